// SPDX-License-Identifier: Apache-2.0
//
// Where code starts, put in order and kept in less room; exits with 1 if a check failed.
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "check.h"
#include "unwind/function_starts.h"
#include "unwind/sort_runs.h"

namespace {

using namespace polytop;

/// So many starts, with distances of all sizes.
std::vector<uint64_t> makeStarts(size_t count) {
  std::vector<uint64_t> starts;
  uint64_t at = 0;
  for (size_t i = 0; i < count; i++) {
    at += uint64_t{1} << (i * 7 % 36);
    starts.push_back(at);
  }
  return starts;
}

void testStarts(size_t count) {
  const std::vector<uint64_t> starts = makeStarts(count);
  const FunctionStarts kept(starts);
  check(kept.size() == count, "how many there are");
  check(kept.enclosing(UINT64_MAX) == (count == 0 ? 0 : starts.back()), "the last one");
  uint64_t before = 0;
  for (const uint64_t start : starts) {
    check(kept.enclosing(start) == start, "a start is found from where it is");
    check(kept.enclosing(start - 1) == before, "up to the next one");
    before = start;
  }
}

/// A start, and where it was before it was sorted.
struct Start {
  uint32_t address;
  size_t place;
  bool operator==(const Start&) const = default;
};

bool before(const Start& left, const Start& right) { return left.address < right.address; }

/// So many starts below `most`, in runs of up to `length`.
std::vector<Start> makeRuns(size_t count, size_t length, uint32_t most, std::mt19937& random) {
  std::vector<Start> starts(count);
  for (Start& start : starts) start.address = static_cast<uint32_t>(random() % most);
  for (size_t begin = 0, end = 0; begin < count; begin = end) {
    end = std::min(count, begin + 1 + random() % length);
    std::sort(starts.begin() + static_cast<ptrdiff_t>(begin), starts.begin() + static_cast<ptrdiff_t>(end), before);
  }
  for (size_t i = 0; i < count; i++) starts[i].place = i;
  return starts;
}

void testSorting(std::vector<Start> starts) {
  std::vector<Start> expected = starts;
  std::stable_sort(expected.begin(), expected.end(), before);
  sortRuns(starts, before);
  check(starts == expected, "runs are merged as std::stable_sort sorts them");
}

void testRuns() {
  std::mt19937 random(1);
  for (const size_t count : {0, 1, 2, 3, 5, 64, 1000}) {
    for (const size_t length : {1, 2, 7, 1000}) {
      for (const uint32_t most : {1u, 10u, 1'000'000u}) testSorting(makeRuns(count, length, most, random));
    }
  }
  std::vector<Start> backwards;
  for (uint32_t i = 0; i < 1000; i++) backwards.push_back({1000 - i, i});
  check(endsOfRuns(backwards, before).size() == 1000, "each start is a run of its own");
  testSorting(backwards);
}

}  // namespace

int main() {
  for (const size_t count : {0, 1, 31, 32, 33, 64, 65, 1000}) testStarts(count);
  testRuns();
  return reportChecks();
}
