// SPDX-License-Identifier: Apache-2.0
#include "code/code_holes.h"

#include <algorithm>

#include "elf/code_places.h"
#include "unwind/row_writer.h"

namespace polytop {
namespace {

constexpr uint64_t kLeastHole = 16;
/// Real programs have some ten.
constexpr size_t kMostRanges = 64;

/// The ranges of a file that are code, ascending and apart.
std::vector<CodeHole> findCode(const ElfImage& image) {
  const CodePlaces places(image);
  std::vector<CodeHole> code;
  for (const Section& section : image.sections()) {
    if ((section.flags & SHF_EXECINSTR) == 0 || section.type != SHT_PROGBITS || code.size() >= kMostRanges) continue;
    const CodeRange* range = places.find(section.address);
    if (range == nullptr || section.size == 0) continue;
    const uint64_t inside = section.address - range->address;
    code.push_back({range->offset + inside, std::min(section.size, range->size - inside)});
  }
  if (code.empty()) {
    for (const CodeRange& range : places.ranges()) code.push_back({range.offset, range.size});
  }
  std::sort(code.begin(), code.end(), [](const CodeHole& a, const CodeHole& b) { return a.offset < b.offset; });
  uint64_t end = 0;
  for (CodeHole& range : code) {
    const uint64_t last = range.offset + range.size;
    range.offset = std::max(range.offset, end);
    range.size = last > range.offset ? last - range.offset : 0;
    end = std::max(end, last);
  }
  return code;
}

}  // namespace

uint32_t RowCursor::ruleAt(uint64_t offset, uint64_t& end) {
  const uint64_t number = offset / kPageSize;
  for (; page_ < table_.pages.size() && table_.pages[page_].page < number; page_++) row_ = 0;
  if (page_ == table_.pages.size()) {
    end = UINT64_MAX;
    return kNoRule;
  }
  const PageRows& page = table_.pages[page_];
  if (page.page > number) {
    end = page.page * kPageSize;
    return kNoRule;
  }
  const uint32_t* rows = table_.rows.data() + page.first;
  const auto startOf = [&](uint32_t row) { return number * kPageSize + (rows[row] & ROW_OFFSET_MASK); };
  while (row_ + 1 < page.count && startOf(row_ + 1) <= offset) row_++;
  end = row_ + 1 < page.count ? startOf(row_ + 1) : (number + 1) * kPageSize;
  return rows[row_] >> ROW_OFFSET_BITS;
}

std::vector<CodeHole> findHoles(const ElfImage& image, const UnwindTable& table) {
  const CodePlaces places(image);
  const CodeRange* entryRange = image.entry() != 0 ? places.find(image.entry()) : nullptr;
  const uint64_t entry = entryRange ? entryRange->offset + (image.entry() - entryRange->address) : UINT64_MAX;
  RowCursor cursor(table);
  std::vector<CodeHole> holes;
  for (const CodeHole& range : findCode(image)) {
    const uint64_t last = range.offset + range.size;
    CodeHole hole = {range.offset, 0};
    const auto close = [&] {
      if (hole.size >= kLeastHole) holes.push_back(hole);
      hole.size = 0;
    };
    for (uint64_t at = range.offset, end = 0; at < last; at = end) {
      const uint32_t rule = cursor.ruleAt(at, end);
      end = std::min(end, last);
      const bool isGuessed = rule == kEndRule && at >= entry && end <= entry + kGuessedEntryBytes;
      if (rule != kNoRule && !isGuessed) {
        close();
        continue;
      }
      if (hole.size == 0) hole.offset = at;
      hole.size += end - at;
    }
    close();
  }
  return holes;
}

}  // namespace polytop
