// SPDX-License-Identifier: Apache-2.0
#include "unwind/function_starts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "dwarf/dwarf_reader.h"

namespace polytop {

namespace {

constexpr size_t kStartsOfBlock = 32;

void putUleb(std::vector<uint8_t>& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<uint8_t>(value | 0x80));
  bytes.push_back(static_cast<uint8_t>(value));
}

}  // namespace

FunctionStarts::FunctionStarts(const std::vector<uint64_t>& starts, std::vector<uint64_t> gaps)
    : size_(starts.size()), gaps_(std::move(gaps)) {
  gaps_.shrink_to_fit();
  blocks_.reserve((starts.size() + kStartsOfBlock - 1) / kStartsOfBlock);
  // Most functions are shorter than 16 KB.
  distances_.reserve(2 * starts.size());
  for (size_t i = 0; i < starts.size(); i++) {
    if (i % kStartsOfBlock == 0)
      blocks_.push_back({starts[i], distances_.size()});
    else
      putUleb(distances_, starts[i] - starts[i - 1]);
  }
  distances_.shrink_to_fit();
}

bool FunctionStarts::isGap(uint64_t start) const { return std::binary_search(gaps_.begin(), gaps_.end(), start); }

OffsetRange FunctionStarts::around(uint64_t offset) const {
  const auto behind = std::upper_bound(blocks_.begin(), blocks_.end(), offset,
                                       [](uint64_t value, const Block& block) { return value < block.start; });
  if (behind == blocks_.begin()) return {0, blocks_.empty() ? 0 : blocks_.front().start};
  const Block& block = *std::prev(behind);
  DwarfReader distances(distances_.data(), block.place, behind == blocks_.end() ? distances_.size() : behind->place);
  uint64_t start = block.start;
  while (!distances.atEnd()) {
    const uint64_t next = start + distances.uleb();
    if (next > offset) return {start, next};
    start = next;
  }
  return {start, behind == blocks_.end() ? 0 : behind->start};
}

}  // namespace polytop
