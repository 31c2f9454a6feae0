// SPDX-License-Identifier: Apache-2.0
//
// Code without unwind information of which something is known all the same.
#include <algorithm>
#include <iterator>

#include "arch/arch.h"
#include "unwind/row_writer.h"
#include "unwind/unwind_table.h"

namespace polytop {

namespace {

void addStart(std::vector<uint64_t>& starts, uint64_t offset) {
  const auto place = std::lower_bound(starts.begin(), starts.end(), offset);
  if (place == starts.end() || *place != offset) starts.insert(place, offset);
}

/// Gives a page rows that say that nothing is known, unless it has some. False where there is no room.
bool addPage(UnwindTable& table, uint64_t number) {
  const auto place = std::lower_bound(table.pages.begin(), table.pages.end(), number,
                                      [](const PageRows& entry, uint64_t wanted) { return entry.page < wanted; });
  if (place != table.pages.end() && place->page == number) return true;
  if (number > UINT32_MAX || table.pages.size() >= MAX_PAGES || table.rows.size() >= MAX_SHARDS * SHARD_ROWS)
    return false;
  const uint32_t first = place == table.pages.end() ? static_cast<uint32_t>(table.rows.size()) : place->first;
  table.rows.insert(table.rows.begin() + first, kNoRule << ROW_OFFSET_BITS);
  for (auto later = table.pages.insert(place, {static_cast<uint32_t>(number), first, 1}); ++later != table.pages.end();)
    later->first++;
  return true;
}

}  // namespace

std::vector<uint64_t> gapsOf(const UnwindTable& table) {
  std::vector<uint64_t> gaps;
  auto page = table.pages.begin();
  for (const uint64_t start : table.starts) {
    while (page != table.pages.end() && page->page < start / kPageSize) ++page;
    bool hasRule = false;
    if (page != table.pages.end() && page->page == start / kPageSize) {
      const auto rows = table.rows.begin() + page->first;
      const auto above =
          std::upper_bound(rows, rows + page->count, start % kPageSize,
                           [](uint64_t inPage, uint32_t row) { return inPage < (row & ROW_OFFSET_MASK); });
      hasRule = *(above - 1) >> ROW_OFFSET_BITS != kNoRule;
    }
    if (!hasRule) gaps.push_back(start);
  }
  return gaps;
}

unwind_rule framePointerRule() {
  unwind_rule rule{};
  rule.cfa = CFA_FP;
  rule.cfa_offset = arch::kFrameBytes;
  rule.ra_offset = arch::kReturnAddressOffset;
  rule.fp = FP_CFA;
  rule.fp_offset = -arch::kFrameBytes;
  return rule;
}

bool coverHole(UnwindTable& table, uint64_t begin, uint64_t end, uint32_t rule) {
  const uint64_t number = begin / kPageSize, first = begin % kPageSize, last = end - number * kPageSize;
  if (begin >= end || last > kPageSize || table.rows.size() + 2 > MAX_SHARDS * SHARD_ROWS) return false;
  const auto page = std::lower_bound(table.pages.begin(), table.pages.end(), number,
                                     [](const PageRows& entry, uint64_t wanted) { return entry.page < wanted; });
  if (page == table.pages.end() || page->page != number) return false;

  const auto rows = table.rows.begin() + page->first;
  const auto above = std::upper_bound(rows, rows + page->count, first,
                                      [](uint64_t inPage, uint32_t row) { return inPage < (row & ROW_OFFSET_MASK); });
  const uint64_t next = above == rows + page->count ? kPageSize : *above & ROW_OFFSET_MASK;
  const auto hole = above - 1;
  if (*hole >> ROW_OFFSET_BITS != kNoRule || next < last) return false;

  std::vector<uint32_t> added;
  const bool replaces = (*hole & ROW_OFFSET_MASK) == first;
  if (!replaces) added.push_back(static_cast<uint32_t>(rule << ROW_OFFSET_BITS | first));
  if (last < next) added.push_back(static_cast<uint32_t>(kNoRule << ROW_OFFSET_BITS | last));
  if (replaces) *hole = static_cast<uint32_t>(rule << ROW_OFFSET_BITS | first);
  table.rows.insert(above, added.begin(), added.end());
  page->count += static_cast<uint32_t>(added.size());
  for (auto later = std::next(page); later != table.pages.end(); ++later)
    later->first += static_cast<uint32_t>(added.size());
  addStart(table.starts, begin);
  addStart(table.starts, end);
  return true;
}

void coverPages(UnwindTable& table, uint64_t begin, uint64_t end, uint32_t rule) {
  while (begin < end) {
    const uint64_t number = begin / kPageSize, last = std::min(end, (number + 1) * kPageSize);
    if (!addPage(table, number)) return;
    coverHole(table, begin, last, rule);
    begin = last;
  }
}

}  // namespace polytop
