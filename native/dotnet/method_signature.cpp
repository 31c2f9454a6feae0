// SPDX-License-Identifier: Apache-2.0
//
// ECMA-335 II.23.2 with the additions of ready-to-run images: docs/design/coreclr/botr/readytorun-format.md,
// src/coreclr/vm/zapsig.cpp of .NET 8 to 10.
#include "dotnet/method_signature.h"

#include <algorithm>

namespace polytop {

namespace {

// Flags of a method signature: ReadyToRunMethodSigFlags.
constexpr uint32_t kMethodInstantiation = 0x04, kSlot = 0x08, kConstrained = 0x20, kOwnerType = 0x40,
                   kUpdateContext = 0x80;

constexpr int kMaxDepth = 32;
constexpr uint32_t kMaxArguments = 64, kMaxRank = 32;

/// Passes over parts of a signature. Where one cannot be, its end is there.
class SignatureReader {
 public:
  SignatureReader(std::span<const uint8_t> bytes, uint64_t at)
      : bytes_(bytes), at_(at), end_(std::min<uint64_t>(bytes.size(), at + kMaxMethodSignature)) {}

  std::optional<uint64_t> place() const { return isGood_ ? std::optional(at_) : std::nullopt; }

  void skipMethod() {
    const uint32_t flags = next();
    if (flags & (kSlot | kConstrained)) refuse();
    if (flags & kUpdateContext) next();
    if (flags & kOwnerType) skipType(0);
    next();
    if (flags & kMethodInstantiation) skipTypes(0);
  }

 private:
  void refuse() {
    isGood_ = false;
    end_ = at_;
  }

  uint32_t byte() {
    if (at_ < end_) return bytes_[at_++];
    isGood_ = false;
    return 0;
  }

  /// A compressed unsigned integer (section 23.2).
  uint32_t next() {
    const uint32_t first = byte();
    if ((first & 0x80) == 0) return first;
    if ((first & 0x40) == 0) return (first & 0x3f) << 8 | byte();
    uint32_t value = first & 0x1f;
    for (int i = 0; i < 3; i++) value = value << 8 | byte();
    return value;
  }

  void skipTypes(int depth) {
    const uint32_t count = next();
    if (count > kMaxArguments) refuse();
    for (uint32_t i = 0; i < count && isGood_; i++) skipType(depth + 1);
  }

  void skipType(int depth) {
    if (depth > kMaxDepth) return refuse();
    // Element types: section 23.1.16, and those of ready-to-run images from 0x3b on.
    switch (next()) {
      case 0x01 ... 0x0e:  // void to string: they are named by themselves
      case 0x16:           // TypedReference
      case 0x18:           // IntPtr
      case 0x19:           // UIntPtr
      case 0x1c:           // object
      case 0x3e:           // __Canon
        return;
      case 0x0f:  // a pointer
      case 0x10:  // a reference
      case 0x1d:  // an array of one dimension
        return skipType(depth + 1);
      case 0x11:  // a value type
      case 0x12:  // a class
        next();
        return;
      case 0x14:  // an array
        skipType(depth + 1);
        return skipShape();
      case 0x15:  // an instance
        skipType(depth + 1);
        return skipTypes(depth);
      case 0x3f:  // a type of another module
        next();
        return skipType(depth + 1);
      default:
        refuse();
    }
  }

  /// The shape of an array: its rank, sizes, lower bounds.
  void skipShape() {
    const uint32_t rank = next();
    if (rank < 1 || rank > kMaxRank) refuse();
    for (int list = 0; list < 2; list++) {
      const uint32_t count = next();
      for (uint32_t i = 0; i < count && isGood_; i++) next();
    }
  }

  std::span<const uint8_t> bytes_;
  uint64_t at_, end_;
  bool isGood_ = true;
};

}  // namespace

std::optional<uint64_t> endOfMethodSignature(std::span<const uint8_t> bytes, uint64_t at) {
  if (at >= bytes.size()) return std::nullopt;
  SignatureReader reader(bytes, at);
  reader.skipMethod();
  return reader.place();
}

}  // namespace polytop
