// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace polytop {

/// Code between two file offsets.
struct OffsetRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

/**
 * UnwindTable::starts in some two bytes each instead of eight: the first of each block is kept whole, and of the others
 * the distance from the one before. A hundred thousand functions are nothing unusual, and they are looked for with cold
 * caches.
 */
class FunctionStarts {
 public:
  FunctionStarts() = default;
  /// `starts`: ascending, each once. `gaps`: those of them where code begins that may be many functions.
  explicit FunctionStarts(const std::vector<uint64_t>& starts, std::vector<uint64_t> gaps = {});

  size_t size() const { return size_; }
  /// The last one that is not above an offset, 0 if there is none.
  uint64_t enclosing(uint64_t offset) const { return around(offset).begin; }
  /// From the last one that is not above an offset to the next one, which is 0 if there is none.
  OffsetRange around(uint64_t offset) const;
  /// Whether it is one of the gaps.
  bool isGap(uint64_t start) const;

 private:
  struct Block {
    uint64_t start;
    uint64_t place;  ///< of the distances behind it in distances_
  };

  std::vector<Block> blocks_;
  std::vector<uint8_t> distances_;  ///< unsigned LEB128
  size_t size_ = 0;
  std::vector<uint64_t> gaps_;
};

}  // namespace polytop
