// SPDX-License-Identifier: Apache-2.0
#include "dwarf/dwarf_cfa.h"

namespace polytop {
namespace {

// Compilers nest one or two; what is deeper is an attempt on our memory.
constexpr size_t kMaxRemembered = 64;

// DWARF 5 section 7.24 and the GNU extensions that binutils writes.
enum CfaOpcode : uint8_t {
  kNop = 0x00,
  kSetLoc = 0x01,
  kAdvanceLoc1 = 0x02,
  kAdvanceLoc2 = 0x03,
  kAdvanceLoc4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefCfa = 0x0c,
  kDefCfaRegister = 0x0d,
  kDefCfaOffset = 0x0e,
  kDefCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSf = 0x11,
  kDefCfaSf = 0x12,
  kDefCfaOffsetSf = 0x13,
  kValOffset = 0x14,
  kValOffsetSf = 0x15,
  kValExpression = 0x16,
  kAdvanceLoc8 = 0x1d,  // DW_CFA_MIPS_advance_loc8
  kGnuArgsSize = 0x2e,
  kGnuNegativeOffsetExtended = 0x2f,
  kAdvanceLoc = 0x40,
  kOffset = 0x80,
  kRestore = 0xc0,
};
constexpr uint8_t kPrimaryMask = 0xc0;

}  // namespace

CfaMachine::CfaMachine(const FrameSection& section, const Cie& cie, uint64_t begin, uint64_t end, uint64_t location)
    : section_(section),
      cie_(cie),
      reader_(section.bytes.data(), begin, end),
      state_(cie.initial),
      location_(location) {}

bool CfaMachine::failed() {
  malformed_ = true;
  reader_.fail();
  return false;
}

bool CfaMachine::advance() {
  while (!reader_.atEnd()) {
    const uint8_t opcode = reader_.fixed<uint8_t>();
    const uint64_t operand = opcode & ~kPrimaryMask;
    switch (opcode & kPrimaryMask) {
      case kAdvanceLoc:
        if (operand == 0) continue;
        return advanceBy(operand);
      case kOffset:
        setRule(operand, RegisterRuleKind::kOffset, scaled(reader_.uleb()));
        break;
      case kRestore:
        restoreRule(operand);
        break;
      default: {
        const uint64_t before = location_;
        if (!execute(opcode)) return failed();
        if (location_ != before) return reader_.failed() ? failed() : true;
      }
    }
    if (reader_.failed()) return failed();
  }
  return false;
}

// False where the location would wrap or go nowhere.
bool CfaMachine::advanceBy(uint64_t units) {
  uint64_t bytes = 0;
  uint64_t next = 0;
  if (__builtin_mul_overflow(units, cie_.codeAlignment, &bytes) || __builtin_add_overflow(location_, bytes, &next)) {
    return failed();
  }
  location_ = next;
  return true;
}

// Runs an opcode with its operands behind it; false if it is unknown or cannot be followed.
bool CfaMachine::execute(uint8_t opcode) {
  switch (opcode) {
    case kNop:
      return true;
    case kSetLoc: {
      const uint64_t to = reader_.encodedPointer(cie_.pointerEncoding, section_.address, 0);
      if (reader_.failed() || to < location_) return false;
      location_ = to;
      return true;
    }
    case kAdvanceLoc1:
      return advanceBy(reader_.fixed<uint8_t>());
    case kAdvanceLoc2:
      return advanceBy(reader_.fixed<uint16_t>());
    case kAdvanceLoc4:
      return advanceBy(reader_.fixed<uint32_t>());
    case kAdvanceLoc8:
      return advanceBy(reader_.fixed<uint64_t>());
    case kRestoreExtended:
      restoreRule(reader_.uleb());
      return true;
    case kUndefined:
      setRule(reader_.uleb(), RegisterRuleKind::kUndefined);
      return true;
    case kSameValue:
      setRule(reader_.uleb(), RegisterRuleKind::kSameValue);
      return true;
    case kRememberState:
      if (remembered_.size() >= kMaxRemembered) return false;
      remembered_.push_back(state_);
      return true;
    case kRestoreState:
      if (remembered_.empty()) return false;
      state_ = remembered_.back();
      remembered_.pop_back();
      return true;
    case kDefCfaRegister:
      // Only valid while the CFA is register + offset (DWARF 5 section 6.4.2.2).
      if (state_.cfaIsExpression) return false;
      state_.cfaRegister = reader_.uleb();
      return true;
    case kDefCfaOffset:
      if (state_.cfaIsExpression) return false;
      state_.cfaOffset = static_cast<int64_t>(reader_.uleb());
      return true;
    case kDefCfaOffsetSf:
      if (state_.cfaIsExpression) return false;
      state_.cfaOffset = scaled(static_cast<uint64_t>(reader_.sleb()));
      return true;
    case kDefCfaExpression:
      state_.cfaIsExpression = true;
      state_.cfaExpression = readExpression();
      return true;
    case kGnuArgsSize:
      reader_.uleb();
      return true;
    default:
      break;
  }

  // All that is left has a register and one operand more.
  const bool known = opcode == kOffsetExtended || opcode == kRegister || opcode == kDefCfa ||
                     (opcode >= kExpression && opcode <= kValExpression) || opcode == kGnuNegativeOffsetExtended;
  if (!known) return false;
  const uint64_t number = reader_.uleb();
  switch (opcode) {
    case kOffsetExtended:
      setRule(number, RegisterRuleKind::kOffset, scaled(reader_.uleb()));
      break;
    case kRegister:
      setRule(number, RegisterRuleKind::kRegister, static_cast<int64_t>(reader_.uleb()));
      break;
    case kDefCfa:
      defineCfa(number, static_cast<int64_t>(reader_.uleb()));
      break;
    case kExpression:
      setRule(number, RegisterRuleKind::kExpression, 0, readExpression());
      break;
    case kOffsetExtendedSf:
      setRule(number, RegisterRuleKind::kOffset, scaled(static_cast<uint64_t>(reader_.sleb())));
      break;
    case kDefCfaSf:
      defineCfa(number, scaled(static_cast<uint64_t>(reader_.sleb())));
      break;
    case kValOffset:
      setRule(number, RegisterRuleKind::kValueOffset, scaled(reader_.uleb()));
      break;
    case kValOffsetSf:
      setRule(number, RegisterRuleKind::kValueOffset, scaled(static_cast<uint64_t>(reader_.sleb())));
      break;
    case kValExpression:
      setRule(number, RegisterRuleKind::kValueExpression, 0, readExpression());
      break;
    default:  // kGnuNegativeOffsetExtended
      setRule(number, RegisterRuleKind::kOffset, scaled(0 - reader_.uleb()));
      break;
  }
  return true;
}

// A factored offset in bytes. Wraps rather than overflows: a wrong number of a lying file fits no rule or
// leads nowhere, but must not be undefined behaviour here.
int64_t CfaMachine::scaled(uint64_t factored) const {
  return static_cast<int64_t>(factored * static_cast<uint64_t>(cie_.dataAlignment));
}

void CfaMachine::defineCfa(uint64_t number, int64_t offset) {
  state_.cfaIsExpression = false;
  state_.cfaRegister = number;
  state_.cfaOffset = offset;
}

RegisterRule* CfaMachine::ruleOf(CfaState& state, uint64_t number) const {
  if (number == cie_.returnAddressRegister) return &state.returnAddress;
  if (number == arch::kBase) return &state.base;
  if (number == arch::kFp) return &state.fp;
  if (number == arch::kSp) return &state.sp;
  return nullptr;
}

void CfaMachine::setRule(uint64_t number, RegisterRuleKind kind, int64_t value, ExpressionRange expression) {
  RegisterRule* rule = ruleOf(state_, number);
  if (rule != nullptr) *rule = {kind, value, expression};
}

void CfaMachine::restoreRule(uint64_t number) {
  RegisterRule* rule = ruleOf(state_, number);
  if (rule == nullptr) return;
  CfaState initial = cie_.initial;
  *rule = *ruleOf(initial, number);
}

ExpressionRange CfaMachine::readExpression() {
  const uint64_t size = reader_.uleb();
  const uint64_t begin = reader_.position();
  reader_.skip(size);
  if (reader_.failed()) return {};
  return {static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + size)};
}

}  // namespace polytop
