// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "arch/arch.h"
#include "dwarf/dwarf_reader.h"

namespace polytop {

/// Where the caller's value of a register is (DWARF 5 section 6.4.1).
enum class RegisterRuleKind : uint8_t {
  kUnspecified,
  kUndefined,
  kSameValue,
  kOffset,           ///< saved at CFA + value
  kValueOffset,      ///< is CFA + value
  kRegister,         ///< in register `value`
  kExpression,       ///< saved where the expression says
  kValueExpression,  ///< what the expression says
};

/// A piece of the section: an expression in DWARF operations.
struct ExpressionRange {
  uint32_t begin = 0;
  uint32_t end = 0;
};

struct RegisterRule {
  RegisterRuleKind kind = RegisterRuleKind::kUnspecified;
  int64_t value = 0;
  ExpressionRange expression;
};

/// One row of the table that a CFA program describes, as far as it leads to the caller's sp, fp, base and return
/// address.
struct CfaState {
  bool cfaIsExpression = false;
  uint64_t cfaRegister = ~0ULL;  ///< none defined yet
  int64_t cfaOffset = 0;
  ExpressionRange cfaExpression;
  RegisterRule base;
  RegisterRule fp;
  RegisterRule sp;
  RegisterRule returnAddress;
};

/// A Common Information Entry (DWARF 5 section 6.4.1; LSB Core 10.6.1.1).
struct Cie {
  bool valid = false;
  bool hasAugmentationData = false;  ///< 'z': an FDE has augmentation data before its program
  bool signalFrame = false;          ///< 'S': the frame that a signal handler returns to
  uint8_t pointerEncoding = 0;
  uint64_t codeAlignment = 1;
  int64_t dataAlignment = 1;
  uint64_t returnAddressRegister = arch::kReturnAddress;
  CfaState initial;  ///< after the initial instructions
};

/// The bytes of .eh_frame or .debug_frame.
struct FrameSection {
  std::vector<uint8_t> bytes;
  uint64_t address = 0;  ///< virtual address of the first byte
  bool eh = true;        ///< .eh_frame (LSB) or .debug_frame (DWARF)
};

/// Runs a CFA program (DWARF 5 section 6.4.2) row by row. Every step consumes bytes of the program, so it ends.
class CfaMachine {
 public:
  /// Runs the bytes [begin, end) of `section`; the first row is for the virtual address `location`.
  CfaMachine(const FrameSection& section, const Cie& cie, uint64_t begin, uint64_t end, uint64_t location);

  /// Runs up to the next change of location. After it, state() is the row from the location before the
  /// call up to location(). False at the end of the program: the row reaches to the end of the function.
  bool advance();

  const CfaState& state() const { return state_; }
  uint64_t location() const { return location_; }
  /// The program is malformed at this point: what follows is unknown.
  bool malformed() const { return malformed_; }

 private:
  bool advanceBy(uint64_t units);
  bool execute(uint8_t opcode);
  void setRule(uint64_t number, RegisterRuleKind kind, int64_t value = 0, ExpressionRange expression = {});
  void restoreRule(uint64_t number);
  void defineCfa(uint64_t number, int64_t offset);
  RegisterRule* ruleOf(CfaState& state, uint64_t number) const;
  ExpressionRange readExpression();
  int64_t scaled(uint64_t factored) const;
  bool failed();

  const FrameSection& section_;
  const Cie& cie_;
  DwarfReader reader_;
  CfaState state_;
  uint64_t location_;
  bool malformed_ = false;
  std::vector<CfaState> remembered_;
};

}  // namespace polytop
