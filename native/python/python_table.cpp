// SPDX-License-Identifier: Apache-2.0
//
// Tables of lines: co_lnotab (Objects/lnotab_notes.txt, 3.9), co_linetable of PEP 626 (3.10) and of PEP 657
// (Objects/locations.md, from 3.11 on).
#include "python/python_table.h"

#include <algorithm>
#include <limits>

namespace polytop {

namespace {

constexpr int8_t kNoLine = -128;

/// Codes of an entry of PEP 657.
constexpr int kShortForms = 10;  ///< below: in the line of the entry before; one byte follows
constexpr int kOneLine = 10;     ///< to 12: 0, 1, 2 lines further; two bytes follow
constexpr int kNoColumns = 13;
constexpr int kLong = 14;
constexpr int kNone = 15;

/// Bytes of a table from front to back; behind its end there are zeros.
class Bytes {
 public:
  explicit Bytes(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool hasMore() const { return at_ < bytes_.size(); }
  uint8_t next() { return hasMore() ? bytes_[at_++] : 0; }
  void skip(size_t count) { at_ = std::min(at_ + count, bytes_.size()); }

  /// Six bits a byte, the lowest first; bit 6 says that there is another byte.
  uint32_t number() {
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 32; shift += 6) {
      const uint8_t byte = next();
      value |= static_cast<uint32_t>(byte & 0x3f) << shift;
      if (!(byte & 0x40)) break;
    }
    return value;
  }
  /// The lowest bit is the sign.
  int64_t signedNumber() {
    const uint32_t value = number();
    return value & 1 ? -static_cast<int64_t>(value >> 1) : static_cast<int64_t>(value >> 1);
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

}  // namespace

PythonTable::PythonTable(python_table kind, uint32_t firstLine, std::span<const uint8_t> table)
    : firstLine_(firstLine) {
  if (kind == PYTHON_LNOTAB) readLnotab(table);
  if (kind == PYTHON_LINETABLE) readLinetable(table);
  if (kind == PYTHON_LOCATIONS) readLocations(table);
  ranges_.shrink_to_fit();
}

uint32_t PythonTable::lineOf(uint32_t offset) const {
  const auto range = std::upper_bound(ranges_.begin(), ranges_.end(), offset,
                                      [](uint32_t it, const Range& range) { return it < range.end; });
  return range == ranges_.end() ? 0 : range->line;
}

void PythonTable::add(uint32_t end, int64_t line) {
  const bool isLine = line > 0 && line <= std::numeric_limits<int32_t>::max();
  const uint32_t shown = isLine ? static_cast<uint32_t>(line) : 0;
  if (!ranges_.empty() && ranges_.back().end >= end) return;
  if (!ranges_.empty() && ranges_.back().line == shown)
    ranges_.back().end = end;
  else
    ranges_.push_back({end, shown});
}

void PythonTable::readLnotab(std::span<const uint8_t> table) {
  Bytes bytes(table);
  uint32_t at = 0;
  int64_t line = firstLine_;
  while (bytes.hasMore()) {
    const uint8_t distance = bytes.next();
    const auto lines = static_cast<int8_t>(bytes.next());
    at += distance;
    if (distance > 0) add(at, line);
    line += lines;
  }
  // The last line holds up to the end of the code, which the table does not tell.
  add(std::numeric_limits<uint32_t>::max(), line);
}

void PythonTable::readLinetable(std::span<const uint8_t> table) {
  Bytes bytes(table);
  uint32_t at = 0;
  int64_t line = firstLine_;
  while (bytes.hasMore()) {
    at += bytes.next();
    const auto lines = static_cast<int8_t>(bytes.next());
    if (lines != kNoLine) line += lines;
    add(at, lines == kNoLine ? 0 : line);
  }
}

void PythonTable::readLocations(std::span<const uint8_t> table) {
  Bytes bytes(table);
  uint32_t at = 0;
  int64_t line = firstLine_;
  while (bytes.hasMore()) {
    const uint8_t first = bytes.next();
    // Only what begins an entry has this bit: a later version may write its tables otherwise.
    if (!(first & 0x80)) return ranges_.clear();
    const int code = first >> 3 & 15;
    at += 2 * ((first & 7u) + 1);
    if (code < kShortForms) {
      bytes.skip(1);
    } else if (code < kNoColumns) {
      line += code - kOneLine;
      bytes.skip(2);
    } else if (code <= kLong) {
      line += bytes.signedNumber();
      for (int i = 0; code == kLong && i < 3; i++) bytes.number();
    }
    add(at, code == kNone ? 0 : line);
  }
}

}  // namespace polytop
