// SPDX-License-Identifier: Apache-2.0
//
// The compact tables of precompiled images: src/coreclr/vm/nativeformatreader.h of .NET 8 to 10.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "util/budget.h"
#include "util/failure.h"

namespace polytop {

/// Reads one of them. What lies outside of its bytes, or cannot be, throws a Failure.
class NativeReader {
 public:
  /// Each element that a block may have and each entry that is looked at is taken from the budget.
  NativeReader(std::span<const uint8_t> bytes, Budget& budget) : bytes_(bytes), budget_(budget) {}

  /// A number whose low bits say how many bytes it has; `at` is behind it then. None where it is cut.
  std::optional<uint32_t> numberAt(uint64_t& at) const {
    constexpr uint8_t kLengths[] = {1, 2, 1, 3, 1, 2, 1, 4, 1, 2, 1, 3, 1, 2, 1, kLongest};
    if (at >= bytes_.size()) return std::nullopt;
    const uint32_t length = kLengths[bytes_[at] & 0xf];
    if (length > bytes_.size() - at) return std::nullopt;
    uint64_t bytes = 0;
    // A copy of a length that is known takes no call.
    if (sizeof bytes <= bytes_.size() - at)
      memcpy(&bytes, bytes_.data() + at, sizeof bytes);
    else
      memcpy(&bytes, bytes_.data() + at, length);
    at += length;
    // The first of five bytes says nothing else; of others as many bits say how many there are.
    return static_cast<uint32_t>((bytes & ~0ULL >> (64 - 8 * length)) >> (length == kLongest ? 8 : length));
  }

  /// The same; what is cut is refused.
  uint32_t number(uint64_t& at) const {
    const std::optional<uint32_t> value = numberAt(at);
    if (!value) throw Failure("a table of its image is cut");
    return *value;
  }

  /// Calls visit(index, place) for each element of a sparse array.
  template <typename Visit>
  void eachElement(Visit visit) const {
    if (bytes_.empty()) return;
    uint64_t base = 0;
    const uint32_t header = number(base);
    const uint32_t count = std::min(header >> 2, kMaxElements), width = 1U << (header & 3);
    for (uint32_t first = 0; first < count; first += kBlock) {
      budget_.takeSteps(kBlock);
      const uint64_t root = base + index(base + uint64_t{first / kBlock} * width, width);
      visitPart(root, {first, kBlock, count}, visit);
    }
  }

  /// Calls visit(place) for each entry of a hash table.
  template <typename Visit>
  void eachEntry(Visit visit) const {
    if (bytes_.empty()) return;
    const uint32_t header = bytes_[0];
    const uint32_t width = 1U << (header & 3);
    if (header >> 2 > kMaxBucketBits) refuse();
    // Buckets must follow each other: so a table is gone through once, whatever it says.
    uint64_t last = 0;
    for (uint64_t bucket = 0; bucket < 1ULL << (header >> 2); bucket++) {
      budget_.takeSteps(1);
      const uint64_t start = 1 + index(1 + bucket * width, width), end = 1 + index(1 + (bucket + 1) * width, width);
      if (start < last || end < start) refuse();
      last = end;
      for (uint64_t at = start; at < end;) {
        budget_.takeSteps(1);
        // An entry has the low byte of its hash, then its distance from here.
        const uint64_t from = ++at;
        visit(from + static_cast<uint64_t>(signedNumber(at)));
      }
    }
  }

 private:
  static constexpr uint32_t kBlock = 16, kLongest = 5, kMaxElements = 1 << 22, kMaxBucketBits = 22;

  /// A part of a block: a power of two of elements, of which `limit` and those behind it are none.
  struct Part {
    uint32_t first, size, limit;
  };

  [[noreturn]] static void refuse() { throw Failure("a table of its image is damaged"); }

  /// The like of number(), with a sign.
  int64_t signedNumber(uint64_t& at) const {
    const uint64_t start = at;
    const uint32_t value = number(at);
    const auto length = static_cast<uint32_t>(at - start);
    const uint32_t unused = length < kLongest ? 32 - 7 * length : 0;
    return static_cast<int32_t>(value << unused) >> unused;
  }

  /// An unsigned number of 1, 2 or 4 bytes.
  uint32_t index(uint64_t at, uint32_t width) const {
    uint32_t value = 0;
    if (width > sizeof value) refuse();
    if (at > bytes_.size() || width > bytes_.size() - at) throw Failure("a table of its image is cut");
    memcpy(&value, bytes_.data() + at, width);
    return value;
  }

  /// A block is a binary tree over the four bits of the index, the highest first.
  template <typename Visit>
  void visitPart(uint64_t at, const Part& part, Visit& visit) const {
    if (part.first >= part.limit) return;
    if (part.size == 1) return visit(part.first, at);
    const uint64_t node = at;
    const uint32_t value = number(at);
    const uint32_t half = part.size / 2;
    if ((value & 3) == 0) {
      // A single element is left, whose number in the block is told.
      const uint32_t found = part.first / kBlock * kBlock + (value >> 2);
      if (found >= part.first && found < std::min(part.first + part.size, part.limit)) visit(found, at);
      return;
    }
    if (value & 1) visitPart(at, {part.first, half, part.limit}, visit);
    if (value & 2) visitPart(node + (value >> 2), {part.first + half, half, part.limit}, visit);
  }

  std::span<const uint8_t> bytes_;
  Budget& budget_;
};

}  // namespace polytop
