// SPDX-License-Identifier: Apache-2.0
#include "cache/stored_table.h"

#include <string>

#include "unwind/sound_table.h"
#include "util/wire.h"

namespace polytop {

namespace {

constexpr uint32_t kNoIndex = ~0u;
constexpr uint32_t kMaxText = 4096;

/// PageRows without what follows from the pages before it.
struct StoredPage {
  uint32_t page = 0;
  uint32_t count = 0;
};

}  // namespace

size_t storedSize(const UnwindTable& table) {
  return table.rows.size() * sizeof table.rows[0] + table.pages.size() * sizeof(StoredPage) +
         table.starts.size() * sizeof table.starts[0] + MAX_RULES * sizeof(unwind_rule) + 2 * kMaxText;
}

void encodeTable(const UnwindTable& table, const RuleSet& rules, WireWriter& writer) {
  const std::vector<unwind_rule> all = rules.all();
  std::vector<uint32_t> localOf(all.size(), kNoIndex);
  std::vector<unwind_rule> used;
  for (const uint32_t row : table.rows) {
    uint32_t& local = localOf[row >> ROW_OFFSET_BITS];
    if (local != kNoIndex) continue;
    local = static_cast<uint32_t>(used.size());
    used.push_back(all[row >> ROW_OFFSET_BITS]);
  }
  writer.put(table.fdeCount);
  writer.put(static_cast<uint8_t>(table.isLimited));
  writer.putText(table.source);
  writer.putText(table.warning.substr(0, kMaxText));
  writer.putList(used);
  writer.putEach(table.pages, [](const PageRows& page) { return StoredPage{page.page, page.count}; });
  writer.putEach(table.rows, [&](uint32_t row) {
    return localOf[row >> ROW_OFFSET_BITS] << ROW_OFFSET_BITS | (row & ROW_OFFSET_MASK);
  });
  writer.putList(table.starts);
}

std::vector<uint8_t> encodeTable(const UnwindTable& table, const RuleSet& rules) {
  WireWriter writer;
  writer.reserve(storedSize(table));
  encodeTable(table, rules, writer);
  return writer.take();
}

bool decodeTable(std::span<const uint8_t> bytes, RuleSet& rules, uint32_t owner, UnwindTable& table) {
  WireReader reader(bytes);
  UnwindTable read;
  read.fdeCount = reader.get<uint64_t>();
  read.isLimited = reader.get<uint8_t>() != 0;
  read.source = reader.getText(kMaxText);
  read.warning = reader.getText(kMaxText);
  const auto used = reader.getList<unwind_rule>(MAX_RULES);
  const auto pages = reader.getList<StoredPage>(MAX_PAGES);
  read.rows = reader.getList<uint32_t>(UINT32_MAX);
  read.starts = reader.getList<uint64_t>(UINT32_MAX);
  if (!reader.isAtEnd()) return false;
  read.pages.reserve(pages.size());
  uint32_t first = 0;
  for (const StoredPage& page : pages) {
    if (page.count > read.rows.size() - first) return false;
    read.pages.push_back({page.page, first, page.count});
    first += page.count;
  }
  for (const unwind_rule& rule : used) {
    if (!isSoundRule(rule)) return false;
  }
  // With the indexes that it was written with: no rule of an unsound table enters those of all files.
  if (!isSoundTable(read, static_cast<uint32_t>(used.size()))) return false;
  FileRules interned(rules, read.lease, owner);
  std::vector<uint32_t> indexes;
  indexes.reserve(used.size());
  for (const unwind_rule& rule : used) indexes.push_back(interned.intern(rule));
  if (interned.overflowed()) {
    read.isLimited = true;
    read.warning = "too many rules";
  }
  for (uint32_t& row : read.rows) row = indexes[row >> ROW_OFFSET_BITS] << ROW_OFFSET_BITS | (row & ROW_OFFSET_MASK);
  table = std::move(read);
  return true;
}

}  // namespace polytop
