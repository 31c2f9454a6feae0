// SPDX-License-Identifier: Apache-2.0
//
// Where code starts, put in order and kept in less room, and the holes between; exits with 1 if a check failed.
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "check.h"
#include "table_search.h"
#include "unwind/function_starts.h"
#include "unwind/unwind_table.h"
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

void testHoles() {
  const auto row = [](uint32_t rule, uint32_t at) { return rule << ROW_OFFSET_BITS | at; };
  UnwindTable table;
  table.rows = {row(kNoRule, 0), row(5, 0x10), row(kNoRule, 0x40), row(6, 0x80), row(7, 0)};
  table.pages = {{0, 0, 4}, {1, 4, 1}};
  table.starts = {0x10, 0x40, 0x80, 0x1000};
  const std::vector<uint32_t> rows = table.rows;
  const std::vector<uint64_t> starts = table.starts;
  check(!coverHole(table, 0x30, 0x48, 9) && !coverHole(table, 0x48, 0x90, 9) && !coverHole(table, 0x48, 0x48, 9),
        "code that is covered keeps its rules");
  check(!coverHole(table, 0xff0, 0x1010, 9) && !coverHole(table, 0x2000, 0x2010, 9), "code of another page");
  check(table.rows == rows && table.starts == starts, "what is refused changes nothing");
  check(coverHole(table, 0x48, 0x60, 9), "a part of a hole");
  check(ruleAt(table, 0x47) == kNoRule && ruleAt(table, 0x48) == 9 && ruleAt(table, 0x5f) == 9 &&
            ruleAt(table, 0x60) == kNoRule && ruleAt(table, 0x80) == 6 && ruleAt(table, 0x1000) == 7,
        "its rule, and those around it");
  check(coverHole(table, 0x60, 0x80, 8) && ruleAt(table, 0x60) == 8 && ruleAt(table, 0x80) == 6 &&
            ruleAt(table, 0x1000) == 7,
        "the rest of a hole");
  check(startAt(table, 0x50) == 0x48 && startAt(table, 0x60) == 0x60, "where the code begins");
}

}  // namespace

int main() {
  for (const size_t count : {0, 1, 31, 32, 33, 64, 65, 1000}) testStarts(count);
  testSorting();
  testGaps();
  testHoles();
  return reportChecks();
}
