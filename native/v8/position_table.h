// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace polytop {

/// A position in the source: the word that V8's tables hold (codegen/source-position.h).
class SourcePosition {
 public:
  explicit SourcePosition(uint64_t word = 0) : word_(word) {}
  /// Whether it is one: an offset is stored with 1 added, and external ones are none of the script.
  bool isKnown() const { return !(word_ & 1) && (word_ >> 1 & kOffsetMask) > 0; }
  /// Characters from the start of the script, where isKnown().
  uint32_t offset() const { return static_cast<uint32_t>((word_ >> 1 & kOffsetMask) - 1); }
  /// The place in the inlining positions, and 1, of the call that it was compiled in for; 0: of none.
  uint32_t inlining() const { return static_cast<uint32_t>(word_ >> 31 & 0xffff); }

 private:
  static constexpr uint64_t kOffsetMask = (1u << 30) - 1;
  uint64_t word_;
};

/// Numbers of seven bits a byte, the lowest first; the highest bit of a byte says that there is another. Behind the end
/// there are zeros.
class VlqReader {
 public:
  explicit VlqReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool hasMore() const { return at_ < bytes_.size(); }
  uint64_t next() {
    uint64_t value = 0;
    for (unsigned shift = 0; hasMore(); shift += 7) {
      const uint8_t byte = bytes_[at_++];
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) break;
    }
    return value;
  }
  /// The lowest bit is the sign.
  int64_t nextSigned() {
    const uint64_t value = next();
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
  }
  /// A byte as it is, where hasMore().
  uint8_t nextByte() { return bytes_[at_++]; }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

/// Positions in the source by the offset of code: of bytecodes, or of instructions.
class PositionTable {
 public:
  /// Reads a table of V8's (codegen/source-position-table.cc). `isUnsigned`: as 14.1 and later write it.
  PositionTable(std::span<const uint8_t> table, bool isUnsigned);
  /// The last position up to an offset; one that is not known where there is none.
  SourcePosition at(uint32_t offset) const;
  SourcePosition first() const { return rows_.empty() ? SourcePosition() : SourcePosition(rows_[0].position); }
  size_t bytes() const { return sizeof *this + rows_.size() * sizeof(Row); }

 private:
  struct Row {
    uint32_t offset;
    uint64_t position;
  };
  std::vector<Row> rows_;  ///< by ascending offset
};

}  // namespace polytop
