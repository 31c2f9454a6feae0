// SPDX-License-Identifier: Apache-2.0
// Searches in an unwind table, as the walk in the kernel (bpf/unwind/rows.h) and open files do them.
#pragma once

#include <algorithm>
#include <optional>

#include "unwind/row_writer.h"
#include "unwind/unwind_table.h"

namespace polytop {

/// The index of the rule for a file offset; kNoRule where there is none.
inline uint32_t ruleAt(const UnwindTable& table, uint64_t offset) {
  const auto& rows = table.rows;
  const auto& pages = table.pages;
  const auto page = std::lower_bound(pages.begin(), pages.end(), offset / kPageSize,
                                     [](const PageRows& entry, uint64_t number) { return entry.page < number; });
  if (page == pages.end() || page->page != offset / kPageSize) return kNoRule;
  const auto first = rows.begin() + page->first;
  const auto above = std::upper_bound(first, first + page->count, offset % kPageSize,
                                      [](uint64_t inPage, uint32_t row) { return inPage < (row & ROW_OFFSET_MASK); });
  return *(above - 1) >> ROW_OFFSET_BITS;
}

/// The start of the code that holds the file offset; nothing if it lies before all of them.
inline std::optional<uint64_t> startAt(const UnwindTable& table, uint64_t offset) {
  const auto above = std::upper_bound(table.starts.begin(), table.starts.end(), offset);
  return above == table.starts.begin() ? std::nullopt : std::optional(*std::prev(above));
}

}  // namespace polytop
