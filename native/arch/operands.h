// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include "arch/instruction.h"
#include "arch/opcode_maps.h"

namespace polytop::arch {

constexpr uint32_t kSpNumber = 4, kFpNumber = 5;

/// The bytes of an instruction, and what its prefixes and its ModRM byte say of its operands.
class Operands {
 protected:
  explicit Operands(std::span<const uint8_t> code) : code_(code.first(std::min(code.size(), kMostInstructionBytes))) {}

  uint8_t next() {
    if (at_ < code_.size()) return code_[at_++];
    failed_ = true;
    return 0;
  }

  int64_t number(uint32_t bytes) {
    if (bytes > code_.size() - at_) {
      failed_ = true;
      return 0;
    }
    uint64_t value = 0;
    std::memcpy(&value, code_.data() + at_, bytes);
    at_ += bytes;
    const uint32_t unused = 64 - 8 * bytes;
    return bytes == 0 ? 0 : static_cast<int64_t>(value << unused) >> unused;
  }

  void readModRm() {
    const uint8_t byte = next();
    mode_ = byte >> 6;
    reg_ = (byte >> 3 & 7) | extendsReg_ << 3;
    const uint32_t low = byte & 7;
    rm_ = low | extendsRm_ << 3;
    if (mode_ == 3) return;
    uint32_t bytes = mode_ == 1 ? 1 : mode_ == 2 ? 4 : 0;
    base_ = rm_;
    if (low == 4) {
      const uint8_t sib = next();
      const uint32_t index = (sib >> 3 & 7) | extendsIndex_ << 3;
      base_ = index == 4 ? (sib & 7) | extendsRm_ << 3 : kNoRegister;
      if ((sib & 7) == 5 && mode_ == 0) {
        bytes = 4;
        base_ = kNoRegister;
      }
    } else if (low == 5 && mode_ == 0) {
      bytes = 4;
      base_ = kNoRegister;
      isOwnData_ = true;
    }
    displacement_ = static_cast<int32_t>(number(bytes));
  }

  /// Whether an operand of ModRM is the register of that number.
  bool isByteRegister(uint32_t number, uint16_t form) const {
    // Without REX the numbers from 4 on are the second bytes of the first four registers.
    return (form & kSmall) == 0 || hasRex_ || number < 4;
  }
  bool writes(uint32_t number, uint16_t form) const {
    if (!isByteRegister(number, form)) return false;
    return ((form & kReg) != 0 && reg_ == number) || ((form & kRm) != 0 && mode_ == 3 && rm_ == number) ||
           ((form & kVvvv) != 0 && vvvv_ == number);
  }
  /// What is to be said of registers that are written and not met in another way.
  Effect effectOf(uint16_t form) const {
    if (writes(kSpNumber, form)) return writes(kFpNumber, form) ? Effect::kInvalid : Effect::kLoseSp;
    return writes(kFpNumber, form) ? Effect::kLoseFp : Effect::kNone;
  }

  static constexpr uint32_t kNoRegister = 16;

  std::span<const uint8_t> code_;
  size_t at_ = 0;
  bool failed_ = false;
  bool isShort_ = false, hasShortAddress_ = false, hasSegment_ = false, hasRex_ = false, isWide_ = false;
  uint8_t repeat_ = 0;
  uint32_t extendsReg_ = 0, extendsIndex_ = 0, extendsRm_ = 0, vvvv_ = kNoRegister;
  uint32_t mode_ = 0, reg_ = 0, rm_ = 0, base_ = kNoRegister;
  bool isOwnData_ = false;  ///< the operand lies at a distance from the instruction
  bool isNested_ = false;   ///< enter with frames of outer functions
  int32_t displacement_ = 0;
  int32_t value_ = 0;
};

}  // namespace polytop::arch
