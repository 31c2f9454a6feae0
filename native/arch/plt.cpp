// SPDX-License-Identifier: Apache-2.0
//
// Facts: psABI section 5.2, "Procedure Linkage Table"; binutils' elf_x86_64_lazy_plt and its variants, lld's and
// mold's.
#include "arch/plt.h"

#include <array>
#include <cstring>
#include <iterator>

#include "arch/bytes_at.h"

namespace polytop::arch {

namespace {

constexpr std::array<uint8_t, 2> kJumpThrough = {0xff, 0x25};  // jmp *n(%rip)
constexpr std::array<uint8_t, 2> kPushWord = {0xff, 0x35};     // push n(%rip)
constexpr std::array<uint8_t, 2> kNumber = {0x41, 0xbb};       // mov $n, %r11d
constexpr std::array<uint8_t, 1> kBound = {0xf2};
constexpr std::array<uint8_t, 1> kPush = {0x68};
constexpr std::array<uint8_t, 1> kJump = {0xe9};
constexpr size_t kOperand = 4;

int32_t operandAt(std::span<const uint8_t> code, size_t at) {
  int32_t value = 0;
  std::memcpy(&value, code.data() + at, sizeof value);
  return value;
}

}  // namespace

std::optional<PltTarget> readPltStub(std::span<const uint8_t> code, uint64_t address) {
  size_t at = hasBytes(code, 0, kEndbr) ? kEndbr.size() : 0;
  if (hasBytes(code, at, kNumber)) at += kNumber.size() + kOperand;
  if (hasBytes(code, at, kBound)) at += kBound.size();
  if (hasBytes(code, at, kJumpThrough) && at + kJumpThrough.size() + kOperand <= code.size()) {
    at += kJumpThrough.size();
    return PltTarget{address + at + kOperand + static_cast<uint64_t>(int64_t{operandAt(code, at)}), 0};
  }
  if (hasBytes(code, at, kPush) && at + kPush.size() + kOperand <= code.size())
    return PltTarget{0, static_cast<uint32_t>(operandAt(code, at + kPush.size()))};
  return std::nullopt;
}

std::optional<PltLayout> readPltLayout(std::span<const uint8_t> code) {
  constexpr size_t kPushAt = kJumpThrough.size() + kOperand, kJumpAt = kPushAt + kPush.size() + kOperand;
  if (code.size() < 2 * kPltEntry || code.size() % kPltEntry != 0) return std::nullopt;
  if (!hasBytes(code, 0, kPushWord) || !hasBytes(code, kPushWord.size() + kOperand, kJumpThrough)) return std::nullopt;
  for (size_t at = kPltEntry; at < code.size(); at += kPltEntry) {
    if (!hasBytes(code, at, kJumpThrough) || !hasBytes(code, at + kPushAt, kPush) ||
        !hasBytes(code, at + kJumpAt, kJump))
      return std::nullopt;
  }
  return PltLayout{kPushWord.size() + kOperand, kPltEntry, static_cast<int32_t>(kJumpAt)};
}

}  // namespace polytop::arch
