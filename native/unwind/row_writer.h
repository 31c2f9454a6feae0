// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "unwind/rule_set.h"
#include "unwind/unwind_table.h"

namespace polytop {

constexpr uint64_t kPageSize = 1 << ROW_OFFSET_BITS;
/// What is taken for code at the entry point that no entry describes: it is 61 bytes in the dynamic linker of glibc,
/// about 20 in C libraries.
constexpr uint64_t kGuessedEntryBytes = 128;

/// Writes rows of ascending offsets straight into the final form.
class RowWriter {
 public:
  explicit RowWriter(UnwindTable& table) : table_(table) {}

  /// `rule` holds from `offset` on. A later rule for the same offset replaces it.
  void add(uint64_t offset, uint32_t rule) {
    if (offset > pendingOffset_) {
      flush();
      pendingOffset_ = offset;
    }
    pendingRule_ = rule;
  }

  /// The rows of a whole page that another table has, the first for its first byte.
  void addPage(uint64_t page, std::span<const uint32_t> rows) {
    add(page * kPageSize, rows[0] >> ROW_OFFSET_BITS);
    flush();
    if (page_ != page) openPage(page, pendingRule_);
    if (full_) return;
    table_.rows.insert(table_.rows.end(), rows.begin() + 1, rows.end());
    table_.pages.back().count = static_cast<uint32_t>(rows.size());
    current_ = pendingRule_ = rows.back() >> ROW_OFFSET_BITS;
  }

  /// Writes the last row. Rows that are added after it must be for higher offsets.
  void flush() {
    if (pendingRule_ != current_ && !full_) write(pendingOffset_, pendingRule_);
  }

  /// The table reached the limit of what can be loaded; the rest was left out.
  bool full() const { return full_; }

 private:
  void write(uint64_t offset, uint32_t rule) {
    const uint64_t page = offset / kPageSize;
    const uint32_t inPage = static_cast<uint32_t>(offset % kPageSize);
    if (page != page_) {
      // A lookup sees one page only: each page that the last rule reaches into starts with it.
      if (current_ != kNoRule) {
        for (uint64_t between = page_ + 1; between < page && !full_; between++) openPage(between, current_);
      }
      if (full_) return;
      if (inPage == 0) {
        if (rule != kNoRule) openPage(page, rule);
        current_ = rule;
        return;
      }
      openPage(page, current_);
    }
    push(inPage, rule);
    current_ = rule;
  }

  void openPage(uint64_t page, uint32_t rule) {
    if (table_.pages.size() >= MAX_PAGES || table_.rows.size() >= MAX_SHARDS * SHARD_ROWS - kPageSize) {
      full_ = true;
      return;
    }
    table_.pages.push_back({static_cast<uint32_t>(page), static_cast<uint32_t>(table_.rows.size()), 0});
    page_ = page;
    push(0, rule);
  }

  void push(uint32_t inPage, uint32_t rule) {
    if (full_) return;
    table_.rows.push_back(rule << ROW_OFFSET_BITS | inPage);
    table_.pages.back().count++;
  }

  UnwindTable& table_;
  uint64_t page_ = ~0ULL;  // the last page opened
  uint32_t current_ = kNoRule;
  uint64_t pendingOffset_ = 0;
  uint32_t pendingRule_ = kNoRule;
  bool full_ = false;
};

}  // namespace polytop
