// SPDX-License-Identifier: Apache-2.0
//
// x86-64 instructions. An instruction is: prefixes, an opcode of one to three bytes or with a VEX, EVEX or XOP prefix,
// a ModRM byte with SIB and displacement where the opcode has operands, an immediate value.
#include "arch/instruction.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "arch/vector_instructions.h"

namespace polytop::arch {
namespace {

/// An instruction that is being decoded.
class Decoder : VectorInstructions {
 public:
  explicit Decoder(std::span<const uint8_t> code) : VectorInstructions(code) {}

  Instruction decode() {
    const Effect effect = read();
    if (failed_ || effect == Effect::kInvalid) return {};
    return {effect, static_cast<uint8_t>(at_), value_};
  }

 private:
  static bool isPrefix(uint8_t byte) {
    constexpr uint8_t kPrefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3};
    return std::find(std::begin(kPrefixes), std::end(kPrefixes), byte) != std::end(kPrefixes);
  }

  Effect read() {
    for (;;) {
      const uint8_t byte = next();
      switch (byte) {
        case 0x66:
          isShort_ = true;
          break;
        case 0xf2:
        case 0xf3:
          repeat_ = byte;
          break;
        case 0x67:
          hasShortAddress_ = true;
          break;
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0x64:
        case 0x65:
          hasSegment_ = true;
          break;
        case 0xf0:
          break;
        default:
          return failed_ ? Effect::kInvalid : readOpcode(byte);
      }
    }
  }

  Effect readOpcode(uint8_t byte) {
    if ((byte & 0xf0) == 0x40) {
      hasRex_ = true;
      isWide_ = byte >> 3 & 1;
      extendsReg_ = byte >> 2 & 1;
      extendsIndex_ = byte >> 1 & 1;
      extendsRm_ = byte & 1;
      byte = next();
      if ((byte & 0xf0) == 0x40 || isPrefix(byte)) return Effect::kInvalid;
    }
    if (byte == 0x62 || byte == 0xc4 || byte == 0xc5) return readVector(byte);
    // XOP has opcode maps from 8 on, where pop has a register number of 0.
    if (byte == 0x8f && at_ < code_.size() && (code_[at_] & 0x1f) >= 8) return readVector(byte);
    if (byte == 0x0f) return readTwoBytes();
    return readOneByte(byte);
  }

  int32_t readImmediate(uint16_t form, uint8_t opcode, bool isShort) {
    if ((form & kFull) != 0) {
      // mov of a value to a register has all eight bytes.
      if (isWide_ && (opcode & 0xf8) == 0xb8) return static_cast<int32_t>(number(8));
      return static_cast<int32_t>(number(isShort && !isWide_ ? 2 : 4));
    }
    int32_t value = 0;
    if ((form & kWord) != 0) value = static_cast<uint16_t>(number(2));
    if ((form & kByte) != 0) {
      const int32_t last = static_cast<int32_t>(number(1));
      if ((form & kWord) == 0) value = last;
      isNested_ = (form & kWord) != 0 && last != 0;
    }
    return value;
  }

  Effect flow(Effect effect, int32_t distance) {
    // No code is that long.
    value_ = static_cast<int32_t>(std::min<int64_t>(int64_t{distance} + static_cast<int64_t>(at_), INT32_MAX));
    return effect;
  }

  Effect readOneByte(uint8_t opcode) {
    uint16_t form = kOneByte[opcode];
    if ((form & kBad) != 0) return Effect::kInvalid;
    if ((form & kModRm) != 0) readModRm();
    const bool isTest = (opcode == 0xf6 || opcode == 0xf7) && (reg_ & 7) < 2;
    if (isTest) form |= opcode == 0xf6 ? kByte : kFull;
    if (opcode >= 0xa0 && opcode <= 0xa3) {
      number(hasShortAddress_ ? 4 : 8);
      return Effect::kNone;
    }
    // Jumps have four bytes whatever comes before them.
    const bool isJump = opcode == 0xe8 || opcode == 0xe9;
    const int32_t immediate = readImmediate(form, opcode, isShort_ && !isJump);
    if (failed_) return Effect::kInvalid;
    if (opcode < 0x40) return readArithmetic(opcode, form);
    switch (opcode) {
      case 0x68:
      case 0x6a:
      case 0x9c:
        return isShort_ ? Effect::kLoseSp : Effect::kPush;
      case 0x9d:
        return isShort_ ? Effect::kLoseSp : Effect::kPop;
      case 0x80:
      case 0x81:
      case 0x83:
        return readGroup1(opcode, form, immediate);
      case 0x89:
      case 0x8b:
        return readMove(opcode, form);
      case 0x8d:
        return readAddress(form);
      case 0x8f:
        return (reg_ & 7) != 0                       ? Effect::kInvalid
               : writes(kSpNumber, form) || isShort_ ? Effect::kLoseSp
               : writes(kFpNumber, form)             ? Effect::kPopFp
                                                     : Effect::kPop;
      case 0x90:
        return extendsRm_ ? Effect::kNone : Effect::kNothing;
      case 0xc2:
        value_ = immediate;
        return Effect::kReturn;
      case 0xc3:
        return Effect::kReturn;
      case 0xc6:
      case 0xc7:
        // mov, or the begin or abort of a transaction, of which the former names where it goes on when it failed.
        if ((reg_ & 7) == 0) return effectOf(form);
        if (mode_ != 3 || (reg_ & 7) != 7 || (rm_ & 7) != 0) return Effect::kInvalid;
        return opcode == 0xc6 ? Effect::kNone : flow(Effect::kBranch, immediate);
      case 0xc8:
        value_ = immediate;
        return isNested_ || isShort_ ? Effect::kLoseSp : Effect::kEnter;
      case 0xc9:
        return isShort_ ? Effect::kLoseSp : Effect::kLeave;
      case 0xca:
      case 0xcb:
      case 0xcf:
        return Effect::kInvalid;
      case 0xcc:
      case 0xf1:
      case 0xf4:
        return Effect::kEnd;
      case 0xe8:
        return flow(Effect::kCall, immediate);
      case 0xe9:
      case 0xeb:
        return flow(Effect::kJump, immediate);
      case 0xf6:
      case 0xf7:
        // Numbers from 4 on multiply and divide: they write other registers.
        return isTest || (reg_ & 7) >= 4 ? Effect::kNone : effectOf(form);
      case 0xfe:
        return (reg_ & 7) < 2 ? effectOf(form) : Effect::kInvalid;
      case 0xff:
        return readGroup5(form);
      default:
        return readNumbered(opcode, form, immediate);
    }
  }

  /// Opcodes that a register or a condition is a part of, and the rest.
  Effect readNumbered(uint8_t opcode, uint16_t form, int32_t immediate) {
    const uint32_t number = (opcode & 7) | extendsRm_ << 3;
    switch (opcode & 0xf8) {
      case 0x50:
        return isShort_ ? Effect::kLoseSp : number == kFpNumber ? Effect::kPushFp : Effect::kPush;
      case 0x58:
        if (isShort_ || number == kSpNumber) return Effect::kLoseSp;
        return number == kFpNumber ? Effect::kPopFp : Effect::kPop;
      case 0x70:
      case 0x78:
        return flow(Effect::kBranch, immediate);
      case 0x90:  // exchanges with the first register
      case 0xb8:
        return number == kSpNumber ? Effect::kLoseSp : number == kFpNumber ? Effect::kLoseFp : Effect::kNone;
      case 0xb0:
        if (!hasRex_ && number >= 4) return Effect::kNone;
        return number == kSpNumber ? Effect::kLoseSp : number == kFpNumber ? Effect::kLoseFp : Effect::kNone;
      default:
        break;
    }
    if (opcode >= 0xe0 && opcode <= 0xe3) return flow(Effect::kBranch, immediate);
    return effectOf(form);
  }

  Effect readArithmetic(uint8_t opcode, uint16_t form) const {
    const bool isXor = opcode == 0x31 || opcode == 0x33;
    // With two bytes the rest of the register would stay.
    if (isXor && !isShort_ && mode_ == 3 && reg_ == kFpNumber && rm_ == kFpNumber) return Effect::kZeroFp;
    return effectOf(form);
  }

  Effect readGroup1(uint8_t opcode, uint16_t form, int32_t immediate) {
    const uint32_t operation = reg_ & 7;
    if (operation == 7) return Effect::kNone;
    const bool isKnown = isWide_ && mode_ == 3 && opcode != 0x80 && (rm_ == kSpNumber || rm_ == kFpNumber);
    const bool isAdd = operation == 0, isSubtract = operation == 5;
    if (isKnown && (isAdd || (isSubtract && immediate != INT32_MIN))) {
      value_ = isAdd ? immediate : -immediate;
      return rm_ == kSpNumber ? Effect::kMoveSp : Effect::kMoveFp;
    }
    if (isKnown && operation == 4 && rm_ == kSpNumber && immediate < 0) return Effect::kAlignSp;
    // reg is a part of the opcode here.
    return effectOf(form & ~kReg);
  }

  Effect readMove(uint8_t opcode, uint16_t form) {
    const uint32_t to = opcode == 0x8b ? reg_ : rm_, from = opcode == 0x8b ? rm_ : reg_;
    if (!isWide_ || hasShortAddress_ || hasSegment_) return effectOf(form);
    if (mode_ == 3 && to == from) return Effect::kNone;
    if (mode_ == 3 && to == kFpNumber && from == kSpNumber) return Effect::kFpFromSp;
    if (mode_ == 3 && to == kSpNumber && from == kFpNumber) return Effect::kSpFromFp;
    if (mode_ != 3 && reg_ == kFpNumber && base_ == kSpNumber) {
      value_ = displacement_;
      return opcode == 0x8b ? Effect::kLoadFp : Effect::kStoreFp;
    }
    return effectOf(form);
  }

  Effect readAddress(uint16_t form) {
    if (mode_ == 3) return Effect::kInvalid;
    if (isWide_ && isOwnData_ && reg_ != kSpNumber && reg_ != kFpNumber) return flow(Effect::kAddress, displacement_);
    if (!isWide_ || hasShortAddress_ || (reg_ != kSpNumber && reg_ != kFpNumber)) return effectOf(form);
    value_ = displacement_;
    if (base_ == kSpNumber) return reg_ == kSpNumber ? Effect::kMoveSp : Effect::kFpFromSp;
    if (base_ == kFpNumber) return reg_ == kSpNumber ? Effect::kSpFromFp : Effect::kMoveFp;
    value_ = 0;
    return effectOf(form);
  }

  Effect readGroup5(uint16_t form) const {
    switch (reg_ & 7) {
      case 0:
      case 1:
        return effectOf(form & ~kReg);
      case 2:
        return Effect::kIndirectCall;
      case 4:
        return isOwnData_ ? Effect::kLinkedJump : Effect::kIndirectJump;
      case 6:
        return isShort_ ? Effect::kLoseSp : Effect::kPush;
      default:
        return Effect::kInvalid;
    }
  }

  Effect readTwoBytes() {
    const uint8_t opcode = next();
    if (opcode == 0x38 || opcode == 0x3a) return readThreeBytes(opcode);
    uint16_t form = kTwoByte[opcode];
    if ((form & kBad) != 0) return Effect::kInvalid;
    if ((form & kModRm) != 0) readModRm();
    // SSE4a has two bytes behind ModRM.
    if (opcode == 0x78 && (isShort_ || repeat_ == 0xf2)) number(2);
    const int32_t immediate = readImmediate(form, opcode, false);
    if (failed_) return Effect::kInvalid;
    switch (opcode) {
      case 0x05:
        return Effect::kSystemCall;
      case 0x07:
      case 0x34:
      case 0x35:
      case 0xaa:
        return Effect::kInvalid;
      case 0x0b:
      case 0xb9:
      case 0xff:
        return Effect::kEnd;
      case 0x00:
        return effectOf(form & ((reg_ & 7) < 2 ? ~kReg : ~kRm));
      case 0x01:
        // smsw; other numbers with a register are instructions of their own.
        return (reg_ & 7) == 4 ? effectOf(form) : Effect::kNone;
      case 0x18:
      case 0x19:
      case 0x1a:
      case 0x1b:
      case 0x1c:
      case 0x1d:
      case 0x1f:
        return Effect::kNothing;
      case 0x1e:
        // Reads the shadow stack's pointer.
        return repeat_ == 0xf3 && mode_ == 3 && (reg_ & 7) == 1 ? effectOf(kModRm | kRm) : Effect::kNothing;
      case 0x2c:
      case 0x2d:
        return repeat_ ? effectOf(form | kReg) : Effect::kNone;
      case 0x7e:
        return repeat_ == 0xf3 ? Effect::kNone : effectOf(form | kRm);
      case 0x78:
        return isShort_ || repeat_ ? Effect::kNone : effectOf(form);
      case 0xa0:
      case 0xa8:
        return isShort_ ? Effect::kLoseSp : Effect::kPush;
      case 0xa1:
      case 0xa9:
        return isShort_ ? Effect::kLoseSp : Effect::kPop;
      case 0xae:
        // Reads of the bases of segments.
        return repeat_ == 0xf3 && (reg_ & 7) < 2 ? effectOf(form | kRm) : Effect::kNone;
      case 0xba:
        return (reg_ & 7) < 4 ? Effect::kInvalid : (reg_ & 7) == 4 ? Effect::kNone : effectOf(form);
      case 0xc7:
        return (reg_ & 7) >= 6 ? effectOf(form) : Effect::kNone;
      default:
        break;
    }
    if ((opcode & 0xf0) == 0x80) return flow(Effect::kBranch, immediate);
    if ((opcode & 0xf8) == 0xc8) {
      const uint32_t number = (opcode & 7) | extendsRm_ << 3;
      return number == kSpNumber ? Effect::kLoseSp : number == kFpNumber ? Effect::kLoseFp : Effect::kNone;
    }
    return effectOf(form);
  }

  Effect readThreeBytes(uint8_t map) {
    const uint8_t opcode = next();
    readModRm();
    if (map == 0x3a) {
      next();
      return effectOf(opcode >= 0x14 && opcode <= 0x17 ? kRm : 0);
    }
    const bool writesReg = opcode == 0xf0 || (opcode == 0xf1 && repeat_ == 0xf2) || opcode == 0xf6;
    return effectOf(writesReg ? kReg : 0);
  }
};

}  // namespace

Instruction decode(std::span<const uint8_t> code) { return Decoder(code).decode(); }

uint32_t signalReturnBytes(std::span<const uint8_t> code) {
  // mov $15, %eax or %rax; syscall: rt_sigreturn (arch/x86/entry/syscalls/syscall_64.tbl of Linux).
  static constexpr uint8_t kShort[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
  static constexpr uint8_t kLong[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  for (const std::span<const uint8_t> bytes : {std::span<const uint8_t>(kShort), std::span<const uint8_t>(kLong)}) {
    if (code.size() >= bytes.size() && std::memcmp(code.data(), bytes.data(), bytes.size()) == 0)
      return static_cast<uint32_t>(bytes.size());
  }
  return 0;
}

}  // namespace polytop::arch
