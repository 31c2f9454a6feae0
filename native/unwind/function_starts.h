// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace polytop {

/**
 * UnwindTable::starts in some two bytes each instead of eight: the first of each block is kept whole, and of the others
 * the distance from the one before. A hundred thousand functions are nothing unusual, and they are looked for with cold
 * caches.
 */
class FunctionStarts {
 public:
  FunctionStarts() = default;
  /// `starts`: ascending, each once.
  explicit FunctionStarts(const std::vector<uint64_t>& starts);

  size_t size() const { return size_; }
  /// The last one that is not above an offset, 0 if there is none.
  uint64_t enclosing(uint64_t offset) const;

 private:
  struct Block {
    uint64_t start;
    uint64_t place;  ///< of the distances behind it in distances_
  };

  std::vector<Block> blocks_;
  std::vector<uint8_t> distances_;  ///< unsigned LEB128
  size_t size_ = 0;
};

}  // namespace polytop
