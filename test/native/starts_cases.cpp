// SPDX-License-Identifier: Apache-2.0
//
// Where code starts, put in order and kept in less room; exits with 1 if a check failed.
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "check.h"
#include "unwind/function_starts.h"
#include "util/radix_sort.h"

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

void testGaps() {
  const FunctionStarts starts({0x1000, 0x1200, 0x1f00}, {0x1200});
  const OffsetRange gap = starts.around(0x1234), last = starts.around(0x5000), before = starts.around(0x10);
  check(starts.isGap(0x1200) && !starts.isGap(0x1000) && !starts.isGap(0x1234), "what is a gap");
  check(gap.begin == 0x1200 && gap.end == 0x1f00, "how far it reaches");
  check(last.begin == 0x1f00 && last.end == 0 && before.begin == 0 && before.end == 0x1000, "the ends");
}

/// A start, and where it was before it was sorted.
struct Start {
  uint64_t address;
  size_t place;
  bool operator==(const Start&) const = default;
};

/// Sorts so many random starts below 2^bits.
void testSorting(size_t count, uint32_t bits, std::mt19937_64& random) {
  std::vector<Start> starts(count);
  for (size_t i = 0; i < count; i++) starts[i] = {bits == 0 ? 0 : random() >> (64 - bits), i};
  std::vector<Start> expected = starts;
  std::stable_sort(expected.begin(), expected.end(),
                   [](const Start& left, const Start& right) { return left.address < right.address; });
  radixSort(starts, bits, [](const Start& start) { return start.address; });
  check(starts == expected, "starts are sorted as std::stable_sort does");
}

void testSorting() {
  std::mt19937_64 random(1);
  // Few are compared, many are put into buckets.
  for (const size_t count : {0, 1, 2, 1000, 2047, 2048, 20'000}) {
    for (const uint32_t bits : {0, 1, 10, 11, 12, 22, 32, 40, 64}) testSorting(count, bits, random);
  }
}

}  // namespace

int main() {
  for (const size_t count : {0, 1, 31, 32, 33, 64, 65, 1000}) testStarts(count);
  testSorting();
  testGaps();
  return reportChecks();
}
