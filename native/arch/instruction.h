// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace polytop::arch {

/// What an instruction does to sp, to fp and to the flow of control; all else of it is of no interest.
enum class Effect : uint8_t {
  kInvalid,       ///< no instruction, or one that no user program has
  kNone,          ///< none of what follows
  kNothing,       ///< nothing at all: what aligns code
  kPush,          ///< a word that is not fp
  kPushFp,        ///< fp
  kPop,           ///< a word to elsewhere than fp and sp
  kPopFp,         ///< a word to fp
  kMoveSp,        ///< sp += value
  kMoveFp,        ///< fp += value
  kAlignSp,       ///< sp is rounded down
  kLoseSp,        ///< sp is set in another way
  kLoseFp,        ///< fp is set in another way
  kZeroFp,        ///< fp = 0
  kFpFromSp,      ///< fp = sp + value
  kSpFromFp,      ///< sp = fp + value
  kStoreFp,       ///< the word at sp + value = fp
  kLoadFp,        ///< fp = the word at sp + value
  kEnter,         ///< push fp, fp = sp, sp -= value
  kLeave,         ///< sp = fp, pop fp
  kAddress,       ///< a register gets the address of the byte at value, from the instruction's first byte on
  kJump,          ///< to the byte at value, from the instruction's first byte on
  kBranch,        ///< the same on a condition
  kCall,          ///< the same for a call; a word is on the stack while it runs
  kIndirectJump,  ///< to where a register or memory says
  kLinkedJump,    ///< to where a word of the file's own data says, as those of a procedure linkage table
  kIndirectCall,  ///< likewise
  kReturn,        ///< to the address at sp, and sp moves behind it
  kSystemCall,    ///< what follows runs with the same sp, or in a new thread
  kEnd,           ///< nothing follows: traps and halts
};

struct Instruction {
  Effect effect = Effect::kInvalid;
  uint8_t length = 0;  ///< in bytes; 0: it is invalid, or `code` ends in it
  int32_t value = 0;   ///< what Effect says; other effects have none
};

/// No instruction is longer.
constexpr uint64_t kMostInstructionBytes = 15;

/**
 * Decodes the instruction that `code` begins with (Intel 64 and IA-32 Architectures Software Developer's Manual, volume
 * 2, appendix A; AMD64 Architecture Programmer's Manual, volume 3, for XOP and 3DNow!). What writes a part of sp or fp
 * loses it. A whole decoder (Zydis 4) takes ten times as long: this one looks at nothing else. It does not tell every
 * reserved encoding from an instruction.
 */
Instruction decode(std::span<const uint8_t> code);

/// The bytes of the two instructions that return from a signal, to which handlers return, if `code` begins with them;
/// else 0.
uint32_t signalReturnBytes(std::span<const uint8_t> code);

}  // namespace polytop::arch
