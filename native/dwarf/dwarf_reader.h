// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

namespace polytop {

/// How a pointer is written (LSB Core 10.5.1, "DWARF Exception Header Encoding").
namespace pointer_encoding {
constexpr uint8_t kAbsolute = 0x00;
constexpr uint8_t kUleb = 0x01;
constexpr uint8_t kUdata2 = 0x02;
constexpr uint8_t kUdata4 = 0x03;
constexpr uint8_t kUdata8 = 0x04;
constexpr uint8_t kSleb = 0x09;
constexpr uint8_t kSdata2 = 0x0a;
constexpr uint8_t kSdata4 = 0x0b;
constexpr uint8_t kSdata8 = 0x0c;
constexpr uint8_t kFormatMask = 0x0f;
constexpr uint8_t kPcRelative = 0x10;
constexpr uint8_t kDataRelative = 0x30;
constexpr uint8_t kAligned = 0x50;
constexpr uint8_t kBaseMask = 0x70;
constexpr uint8_t kIndirect = 0x80;
constexpr uint8_t kOmit = 0xff;
}  // namespace pointer_encoding

/**
 * A cursor over [begin, end) of hostile bytes. A read over the end fails, gives 0 and leaves the
 * cursor at the end, so that a loop over it ends; failed() stays true from then on.
 */
class DwarfReader {
 public:
  /// `begin` and `end` are offsets in `data`; `end` must not be above its size.
  DwarfReader(const uint8_t* data, uint64_t begin, uint64_t end)
      : data_(data), at_(begin <= end ? begin : end), end_(end), failed_(begin > end) {}

  bool atEnd() const { return at_ >= end_; }
  bool failed() const { return failed_; }
  uint64_t position() const { return at_; }
  uint64_t end() const { return end_; }
  uint64_t left() const { return end_ - at_; }

  void fail() {
    failed_ = true;
    at_ = end_;
  }

  void skip(uint64_t size) {
    if (size > left()) return fail();
    at_ += size;
  }

  /// A little-endian integer of the size of T, at any alignment.
  template <typename T>
  T fixed() {
    if (sizeof(T) > left()) {
      fail();
      return 0;
    }
    T value;
    std::memcpy(&value, data_ + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  /// Unsigned LEB128 (DWARF 5 section 7.6); more than 64 bits fail.
  uint64_t uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = fixed<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    fail();
    return 0;
  }

  /// Signed LEB128 (DWARF 5 section 7.6); more than 64 bits fail.
  int64_t sleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
      const uint8_t byte = fixed<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~0ULL << shift;
      return static_cast<int64_t>(value);
    }
    fail();
    return 0;
  }

  /// A zero-terminated string; empty if its end is missing (the cursor has failed then).
  const char* string() {
    const void* zero = left() == 0 ? nullptr : std::memchr(data_ + at_, 0, left());
    if (zero == nullptr) {
      fail();
      return "";
    }
    const char* text = reinterpret_cast<const char*>(data_ + at_);
    at_ = static_cast<uint64_t>(static_cast<const uint8_t*>(zero) - data_) + 1;
    return text;
  }

  /// The number of an encoded pointer without its base; signed formats are extended.
  uint64_t encodedValue(uint8_t encoding) {
    using namespace pointer_encoding;
    switch (encoding & kFormatMask) {
      case kAbsolute:
      case kUdata8:
      case kSdata8:
        return fixed<uint64_t>();
      case kUleb:
        return uleb();
      case kUdata2:
        return fixed<uint16_t>();
      case kUdata4:
        return fixed<uint32_t>();
      case kSleb:
        return static_cast<uint64_t>(sleb());
      case kSdata2:
        return static_cast<uint64_t>(static_cast<int64_t>(fixed<int16_t>()));
      case kSdata4:
        return static_cast<uint64_t>(static_cast<int64_t>(fixed<int32_t>()));
      default:
        fail();
        return 0;
    }
  }

  /// An encoded pointer as virtual address. `dataAddress` is the address of the byte at offset 0,
  /// `dataBase` what "data relative" refers to (0: unknown). Indirect pointers fail: what they
  /// point to is only known in a running process.
  uint64_t encodedPointer(uint8_t encoding, uint64_t dataAddress, uint64_t dataBase) {
    using namespace pointer_encoding;
    if ((encoding & kIndirect) != 0) {
      fail();
      return 0;
    }
    const uint64_t here = dataAddress + at_;
    const uint64_t value = encodedValue(encoding);
    switch (encoding & kBaseMask) {
      case kAbsolute:
        return value;
      case kPcRelative:
        return here + value;
      case kDataRelative:
        if (dataBase != 0) return dataBase + value;
        [[fallthrough]];
      default:
        fail();
        return 0;
    }
  }

 private:
  const uint8_t* data_;
  uint64_t at_;
  uint64_t end_;
  bool failed_;
};

}  // namespace polytop
