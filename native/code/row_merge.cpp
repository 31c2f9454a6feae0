// SPDX-License-Identifier: Apache-2.0
#include "code/row_merge.h"

#include <algorithm>
#include <utility>

#include "unwind/row_writer.h"

namespace polytop {

void replaceRows(UnwindTable& table, std::span<const CodeHole> code, std::span<const PlacedRow> found) {
  UnwindTable merged;
  merged.rows.reserve(table.rows.size() + found.size() + found.size() / 4);
  RowWriter writer(merged);
  RowCursor cursor(table);
  size_t next = 0;
  uint64_t at = 0;
  auto page = table.pages.begin();
  const auto copyTo = [&](uint64_t end) {
    for (uint64_t until = 0; at < end; at = until) {
      while (page != table.pages.end() && page->page < at / kPageSize) ++page;
      const bool isWhole = page != table.pages.end() && page->page * kPageSize == at && at + kPageSize <= end;
      if (isWhole) {
        until = at + kPageSize;
        writer.addPage(page->page, std::span(table.rows).subspan(page->first, page->count));
        continue;
      }
      const uint32_t rule = cursor.ruleAt(at, until);
      writer.add(at, rule);
    }
    at = std::max(at, end);
  };
  for (const CodeHole& piece : code) {
    copyTo(piece.offset);
    at = piece.offset;
    for (; next < found.size() && found[next].offset <= piece.offset + piece.size; next++)
      writer.add(found[next].offset, found[next].rule);
    at = piece.offset + piece.size;
  }
  copyTo(table.pages.empty() ? 0 : (uint64_t{table.pages.back().page} + 1) * kPageSize);
  writer.add(at, kNoRule);
  writer.flush();
  table.rows = std::move(merged.rows);
  table.pages = std::move(merged.pages);
  if (!writer.full()) return;
  table.isLimited = true;
  table.warning = "too many rows";
}

}  // namespace polytop
