// SPDX-License-Identifier: Apache-2.0
#include "cache/stored_table.h"

#include <cstring>
#include <string>

#include "unwind/sound_table.h"

namespace polytop {

namespace {

constexpr uint32_t kNoIndex = ~0u;
constexpr uint32_t kMaxText = 4096;

struct Counts {
  uint32_t rules = 0, pages = 0, rows = 0, starts = 0;
  uint64_t fdes = 0;
  uint32_t source = 0, warning = 0;  ///< bytes of the texts
};

/// PageRows without what follows from the pages before it.
struct StoredPage {
  uint32_t page = 0;
  uint32_t count = 0;
};

template <typename Element>
void append(std::vector<uint8_t>& bytes, const Element* from, size_t count) {
  const auto* first = reinterpret_cast<const uint8_t*>(from);
  bytes.insert(bytes.end(), first, first + count * sizeof(Element));
}

/// Takes elements off bytes from a place on.
class Reader {
 public:
  explicit Reader(const std::vector<uint8_t>& bytes) : bytes_(bytes) {}

  template <typename Element>
  bool take(Element* into, size_t count) {
    const size_t size = count * sizeof(Element);
    if (count > (bytes_.size() - at_) / sizeof(Element)) return false;
    if (size) memcpy(into, bytes_.data() + at_, size);
    at_ += size;
    return true;
  }
  template <typename Container>
  bool takeInto(Container& into, size_t count) {
    if (count > (bytes_.size() - at_) / sizeof(typename Container::value_type)) return false;
    into.resize(count);
    return take(into.data(), count);
  }
  bool isAtEnd() const { return at_ == bytes_.size(); }

 private:
  const std::vector<uint8_t>& bytes_;
  size_t at_ = 0;
};

}  // namespace

std::vector<uint8_t> encodeTable(const UnwindTable& table, const RuleSet& rules) {
  const std::vector<unwind_rule> all = rules.all();
  std::vector<uint32_t> localOf(all.size(), kNoIndex);
  std::vector<unwind_rule> used;
  std::vector<uint32_t> rows;
  rows.reserve(table.rows.size());
  for (const uint32_t row : table.rows) {
    uint32_t& local = localOf[row >> ROW_OFFSET_BITS];
    if (local == kNoIndex) {
      local = static_cast<uint32_t>(used.size());
      used.push_back(all[row >> ROW_OFFSET_BITS]);
    }
    rows.push_back(local << ROW_OFFSET_BITS | (row & ROW_OFFSET_MASK));
  }
  std::vector<StoredPage> pages;
  pages.reserve(table.pages.size());
  for (const PageRows& page : table.pages) pages.push_back({page.page, page.count});
  const std::string warning = table.warning.substr(0, kMaxText);
  Counts counts;
  counts.rules = static_cast<uint32_t>(used.size());
  counts.pages = static_cast<uint32_t>(pages.size());
  counts.rows = static_cast<uint32_t>(rows.size());
  counts.starts = static_cast<uint32_t>(table.starts.size());
  counts.fdes = table.fdeCount;
  counts.source = static_cast<uint32_t>(table.source.size());
  counts.warning = static_cast<uint32_t>(warning.size());
  std::vector<uint8_t> bytes;
  bytes.reserve(sizeof counts + used.size() * sizeof(unwind_rule) + pages.size() * sizeof(StoredPage) +
                rows.size() * sizeof(uint32_t) + table.starts.size() * sizeof(uint64_t) + 2 * kMaxText);
  append(bytes, &counts, 1);
  append(bytes, used.data(), used.size());
  append(bytes, pages.data(), pages.size());
  append(bytes, rows.data(), rows.size());
  append(bytes, table.starts.data(), table.starts.size());
  append(bytes, table.source.data(), table.source.size());
  append(bytes, warning.data(), warning.size());
  return bytes;
}

bool decodeTable(const std::vector<uint8_t>& bytes, RuleSet& rules, UnwindTable& table) {
  Reader reader(bytes);
  Counts counts;
  std::vector<unwind_rule> used;
  std::vector<StoredPage> pages;
  UnwindTable read;
  const bool isWhole = reader.take(&counts, 1) && counts.rules <= MAX_RULES && counts.source <= kMaxText &&
                       counts.warning <= kMaxText && reader.takeInto(used, counts.rules) &&
                       reader.takeInto(pages, counts.pages) && reader.takeInto(read.rows, counts.rows) &&
                       reader.takeInto(read.starts, counts.starts) && reader.takeInto(read.source, counts.source) &&
                       reader.takeInto(read.warning, counts.warning) && reader.isAtEnd();
  if (!isWhole) return false;
  read.fdeCount = counts.fdes;
  read.pages.reserve(pages.size());
  uint32_t first = 0;
  for (const StoredPage& page : pages) {
    read.pages.push_back({page.page, first, page.count});
    if (page.count > counts.rows - first) return false;
    first += page.count;
  }
  for (const unwind_rule& rule : used) {
    if (!isSoundRule(rule)) return false;
  }
  // With the indexes that it was written with: no rule of an unsound table enters those of all files.
  if (!isSoundTable(read, counts.rules)) return false;
  FileRules interned(rules, read.lease);
  std::vector<uint32_t> indexes;
  indexes.reserve(used.size());
  for (const unwind_rule& rule : used) indexes.push_back(interned.intern(rule));
  if (interned.overflowed()) return false;
  for (uint32_t& row : read.rows) row = indexes[row >> ROW_OFFSET_BITS] << ROW_OFFSET_BITS | (row & ROW_OFFSET_MASK);
  table = std::move(read);
  return true;
}

}  // namespace polytop
