// SPDX-License-Identifier: Apache-2.0
#include "dwarf/dwarf_rule.h"

#include <limits>
#include <utility>

#include "util/hash.h"

namespace polytop {
namespace {

// The operations that recognised expressions are made of (DWARF 5 section 7.7.1).
enum Operation : uint8_t {
  kDeref = 0x06,
  kConst1u = 0x08,
  kConst1s = 0x09,
  kConst2u = 0x0a,
  kConst2s = 0x0b,
  kConst4u = 0x0c,
  kConst4s = 0x0d,
  kConstu = 0x10,
  kConsts = 0x11,
  kMinus = 0x1c,
  kPlus = 0x22,
  kPlusUconst = 0x23,
  kLit0 = 0x30,
  kLit31 = 0x4f,
  kBreg0 = 0x70,
  kBreg31 = 0x8f,
  kBregx = 0x92,
  kNopOperation = 0x96,
};

// Longer than any expression that can be recognised: a row may need one read again, so its length must be bounded.
constexpr uint32_t kMaxExpression = 64;

/// What an expression computes.
enum class Shape : uint8_t {
  kUnknown,
  kRegister,  // register + offset
  kDeref,     // *(register + offset) + addend
  kTwice,     // *(*(register + offset) + inner) + addend
  kCfa,       // CFA + offset (the CFA is on the stack when the expression of a register starts)
  kPlt,       // in a procedure linkage table, whose push is done from byte `offset` of an entry on
};

struct Expression {
  Shape shape = Shape::kUnknown;
  uint64_t number = 0;
  int64_t offset = 0;
  int64_t addend = 0;
  int64_t inner = 0;

  /// What a constant that is added now is added to.
  int64_t& sum() { return shape == Shape::kDeref || shape == Shape::kTwice ? addend : offset; }
};

/// Adds with wrap-around: no number of a lying file may be undefined behaviour.
int64_t plus(int64_t left, int64_t right) {
  return static_cast<int64_t>(static_cast<uint64_t>(left) + static_cast<uint64_t>(right));
}

/// Recognises the CFA of an entry of a procedure linkage table: arch::kPltExpression.
bool readPlt(DwarfReader reader, Expression& expression) {
  int64_t threshold = -1;
  for (size_t i = 0; i < arch::kPltExpression.size(); i++) {
    const auto byte = reader.fixed<uint8_t>();
    if (i == arch::kPltThreshold)
      threshold = byte - arch::kPltLiteral;
    else if (byte != arch::kPltExpression[i])
      return false;
  }
  if (threshold < 0 || threshold > 15 || reader.failed() || !reader.atEnd()) return false;
  expression = {Shape::kPlt, arch::kSp, threshold};
  return true;
}

/// Reads the constant that `opcode` pushes; false if it pushes none.
bool readConstant(DwarfReader& reader, uint8_t opcode, int64_t& value) {
  const auto readFixed = [&](auto zero) {
    value = reader.fixed<decltype(zero)>();
    return true;
  };
  switch (opcode) {
    case kConst1u:
      return readFixed(uint8_t{});
    case kConst1s:
      return readFixed(int8_t{});
    case kConst2u:
      return readFixed(uint16_t{});
    case kConst2s:
      return readFixed(int16_t{});
    case kConst4u:
      return readFixed(uint32_t{});
    case kConst4s:
      return readFixed(int32_t{});
    case kConstu:
      value = static_cast<int64_t>(reader.uleb());
      return true;
    case kConsts:
      value = reader.sleb();
      return true;
    default:
      value = opcode - kLit0;
      return opcode >= kLit0 && opcode <= kLit31;
  }
}

/// Tells what an expression computes. `startsWithCfa`: it is the expression of a register, the CFA is on its stack.
Expression readExpression(const FrameSection& section, ExpressionRange range, bool startsWithCfa) {
  if (range.end - range.begin > kMaxExpression) return {};
  DwarfReader reader(section.bytes.data(), range.begin, range.end);
  Expression expression;
  if (readPlt(reader, expression)) return expression;

  if (startsWithCfa) expression.shape = Shape::kCfa;
  bool first = true;
  while (!reader.atEnd()) {
    const uint8_t opcode = reader.fixed<uint8_t>();
    int64_t constant = 0;
    if (first && opcode >= kBreg0 && opcode <= kBreg31) {
      expression = {Shape::kRegister, static_cast<uint64_t>(opcode - kBreg0), reader.sleb()};
    } else if (first && opcode == kBregx) {
      const uint64_t number = reader.uleb();
      expression = {Shape::kRegister, number, reader.sleb()};
    } else if (opcode == kDeref && expression.shape == Shape::kRegister) {
      expression.shape = Shape::kDeref;
    } else if (opcode == kDeref && expression.shape == Shape::kDeref) {
      expression.shape = Shape::kTwice;
      std::swap(expression.inner, expression.addend);
    } else if (opcode == kPlusUconst && expression.shape != Shape::kUnknown) {
      int64_t& sum = expression.sum();
      sum = plus(sum, static_cast<int64_t>(reader.uleb()));
    } else if (expression.shape != Shape::kUnknown && readConstant(reader, opcode, constant)) {
      const uint8_t operation = reader.fixed<uint8_t>();
      if (operation != kPlus && operation != kMinus) return {};
      int64_t& sum = expression.sum();
      sum = plus(sum, operation == kPlus ? constant : plus(~constant, 1));
    } else if (opcode != kNopOperation) {
      return {};
    }
    first = false;
  }
  return reader.failed() ? Expression{} : expression;
}

template <typename T>
bool fits(int64_t value) {
  return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
}

unwind_rule plainRule(uint8_t kind) {
  unwind_rule rule{};
  rule.cfa = kind;
  return rule;
}

/*
 * The frame that a signal handler returns to: sp + d is where the ucontext of the interrupted code starts, which holds
 * the saved registers. All three must agree on d.
 */
bool savedAtSp(const FrameSection& section, const RegisterRule& rule, int64_t& offset) {
  if (rule.kind != RegisterRuleKind::kExpression) return false;
  const Expression expression = readExpression(section, rule.expression, true);
  if (expression.shape != Shape::kRegister || expression.number != arch::kSp) return false;
  offset = expression.offset;
  return true;
}

bool makeSignalRule(const FrameSection& section, const CfaState& state, const Expression& cfa, unwind_rule& rule) {
  if (cfa.shape != Shape::kDeref || cfa.number != arch::kSp || cfa.addend != 0) return false;
  const int64_t start = plus(cfa.offset, -arch::kContextSp);
  int64_t ip = 0, fp = 0;
  if (!savedAtSp(section, state.returnAddress, ip) || !savedAtSp(section, state.fp, fp)) return false;
  if (plus(ip, -arch::kContextIp) != start || plus(fp, -arch::kContextFp) != start || !fits<int32_t>(start))
    return false;
  rule = plainRule(CFA_SIGNAL);
  rule.cfa_offset = static_cast<int32_t>(start);
  return true;
}

// Fills the CFA part; false if this unwinder cannot follow it.
bool setCfa(const CfaState& state, const Expression& expression, unwind_rule& rule) {
  uint64_t number = state.cfaRegister;
  int64_t offset = state.cfaOffset;
  bool deref = false;
  if (state.cfaIsExpression) {
    number = expression.number;
    offset = expression.offset;
    switch (expression.shape) {
      case Shape::kPlt:
        rule.cfa = CFA_PLT;
        rule.cfa_offset = static_cast<int32_t>(offset);
        return true;
      case Shape::kDeref:
        if (!fits<int8_t>(expression.addend)) return false;
        rule.cfa_addend = static_cast<int8_t>(expression.addend);
        deref = true;
        break;
      case Shape::kTwice:
        if (number != arch::kSp || !fits<int32_t>(offset)) return false;
        if (!fits<int8_t>(expression.addend) || !fits<uint8_t>(expression.inner)) return false;
        rule.cfa = CFA_DEREF_TWICE;
        rule.cfa_offset = static_cast<int32_t>(offset);
        rule.cfa_addend = static_cast<int8_t>(expression.addend);
        rule.cfa_register = static_cast<uint8_t>(expression.inner);
        return true;
      case Shape::kRegister:
        break;
      default:
        return false;
    }
  }
  if (!fits<int32_t>(offset)) return false;
  rule.cfa_offset = static_cast<int32_t>(offset);
  if (number == arch::kSp) {
    rule.cfa = deref ? CFA_DEREF_SP : CFA_SP;
  } else if (number == arch::kFp) {
    rule.cfa = deref ? CFA_DEREF_FP : CFA_FP;
  } else if (number == arch::kBase) {
    rule.cfa = deref ? CFA_DEREF_BASE : CFA_BASE;
  } else if (number < arch::kReturnAddress && !deref) {
    rule.cfa = CFA_REGISTER;
    rule.cfa_register = static_cast<uint8_t>(number);
  } else {
    return false;
  }
  return true;
}

/// Tells where a register is saved as an offset from the CFA; false if that cannot be told.
bool offsetFromCfa(const FrameSection& section, const RegisterRule& saved, const unwind_rule& rule, int64_t& offset) {
  if (saved.kind == RegisterRuleKind::kOffset) {
    offset = saved.value;
    return true;
  }
  if (saved.kind != RegisterRuleKind::kExpression) return false;
  const Expression expression = readExpression(section, saved.expression, true);
  if (expression.shape == Shape::kCfa) {
    offset = expression.offset;
    return true;
  }
  // The place is counted from the register that the CFA is counted from.
  const bool sameBase =
      (rule.cfa == CFA_SP && expression.number == arch::kSp) || (rule.cfa == CFA_FP && expression.number == arch::kFp);
  if (expression.shape != Shape::kRegister || !sameBase) return false;
  offset = plus(expression.offset, -static_cast<int64_t>(rule.cfa_offset));
  return true;
}

void setFp(const FrameSection& section, const RegisterRule& saved, unwind_rule& rule) {
  int64_t offset = 0;
  rule.fp = FP_UNDEFINED;
  if (offsetFromCfa(section, saved, rule, offset)) {
    if (!fits<int32_t>(offset)) return;
    rule.fp = FP_CFA;
    rule.fp_offset = static_cast<int32_t>(offset);
    return;
  }
  switch (saved.kind) {
    case RegisterRuleKind::kUnspecified:  // callee-saved: unchanged where nothing is said
    case RegisterRuleKind::kSameValue:
      rule.fp = FP_SAME;
      return;
    case RegisterRuleKind::kRegister:
      if (saved.value == static_cast<int64_t>(arch::kFp)) rule.fp = FP_SAME;
      return;
    case RegisterRuleKind::kExpression:
    case RegisterRuleKind::kValueExpression: {
      // Stack realignment (GCC's DRAP): saved at fp + n, or the value *(fp + n).
      const Expression expression = readExpression(section, saved.expression, true);
      const Shape wanted = saved.kind == RegisterRuleKind::kExpression ? Shape::kRegister : Shape::kDeref;
      if (expression.shape != wanted || expression.number != arch::kFp || expression.addend != 0) return;
      if (!fits<int32_t>(expression.offset)) return;
      rule.fp = FP_DEREF_FP;
      rule.fp_offset = static_cast<int32_t>(expression.offset);
      return;
    }
    default:
      return;
  }
}

/// Tells where the caller's base is, as unwind_rule.base does.
uint8_t baseOf(const RegisterRule& saved) {
  switch (saved.kind) {
    case RegisterRuleKind::kUnspecified:
    case RegisterRuleKind::kSameValue:
      return BASE_SAME;
    case RegisterRuleKind::kOffset: {
      const int64_t words = saved.value / -arch::kWordBytes;
      const bool isTold = saved.value % arch::kWordBytes == 0 && words > BASE_SAME && fits<uint8_t>(words);
      return isTold ? static_cast<uint8_t>(words) : uint8_t{BASE_UNKNOWN};
    }
    default:
      return BASE_UNKNOWN;
  }
}

// Fills where the return address is; false if this unwinder cannot follow it.
bool setReturnAddress(const FrameSection& section, const CfaState& state, unwind_rule& rule) {
  // vfork() of the GNU C library takes it off the stack: parent and child share that.
  const RegisterRule& saved = state.returnAddress;
  if (saved.kind == RegisterRuleKind::kRegister && saved.value >= 0 &&
      saved.value < static_cast<int64_t>(arch::kReturnAddress)) {
    rule.ra_register = static_cast<uint8_t>(saved.value + 1);
    return true;
  }
  int64_t offset = 0;
  if (!offsetFromCfa(section, saved, rule, offset) || !fits<int16_t>(offset)) return false;
  rule.ra_offset = static_cast<int16_t>(offset);
  return true;
}

// The caller's sp is the CFA unless the program says otherwise (psABI section 3.6.2).
bool spIsCfa(const RegisterRule& sp) {
  return sp.kind == RegisterRuleKind::kUnspecified || sp.kind == RegisterRuleKind::kSameValue ||
         (sp.kind == RegisterRuleKind::kValueOffset && sp.value == 0);
}

}  // namespace

unwind_rule makeUnwindRule(const FrameSection& section, const Cie& cie, const CfaState& state, bool tellsBase) {
  if (state.returnAddress.kind == RegisterRuleKind::kUndefined) return plainRule(CFA_END);
  Expression expression;
  if (state.cfaIsExpression) expression = readExpression(section, state.cfaExpression, false);
  unwind_rule rule{};
  if (cie.signalFrame && makeSignalRule(section, state, expression, rule)) return rule;

  if (!setCfa(state, expression, rule) || !spIsCfa(state.sp) || !setReturnAddress(section, state, rule))
    return plainRule(CFA_UNSUPPORTED);
  setFp(section, state.fp, rule);
  if (tellsBase) rule.base = baseOf(state.base);
  return rule;
}

uint32_t RuleFinder::find(const FrameSection& section, const Cie& cie, const CfaState& state) {
  uint64_t key = 0;
  if (tellsBase_ || !makeKey(cie, state, key)) {
    const unwind_rule rule = makeUnwindRule(section, cie, state, tellsBase_);
    needsBase_ |= rule.cfa == CFA_BASE || rule.cfa == CFA_DEREF_BASE;
    return rules_.intern(rule);
  }
  Slot& slot = slots_[key * kHashFactor >> (64 - kSlotBits)];
  if (slot.key != key) slot = {key, rules_.intern(makeUnwindRule(section, cie, state, tellsBase_))};
  return slot.index;
}

bool RuleFinder::makeKey(const Cie& cie, const CfaState& state, uint64_t& key) {
  if (cie.signalFrame || state.cfaIsExpression || (state.cfaRegister != arch::kSp && state.cfaRegister != arch::kFp))
    return false;
  if (state.sp.kind != RegisterRuleKind::kUnspecified) return false;
  if (state.returnAddress.kind != RegisterRuleKind::kOffset || state.returnAddress.value != arch::kReturnAddressOffset)
    return false;
  const bool saved = state.fp.kind == RegisterRuleKind::kOffset;
  if (!saved && state.fp.kind != RegisterRuleKind::kUnspecified) return false;
  const uint64_t below = saved ? 0 - static_cast<uint64_t>(state.fp.value) : 0;
  const uint64_t offset = static_cast<uint64_t>(state.cfaOffset);
  if (offset >= 1U << 31 || below >= 1U << 30) return false;
  key = 1ULL << 63 | offset << 32 | below << 2 | (saved ? 2 : 0) | (state.cfaRegister == arch::kSp ? 1 : 0);
  return true;
}

}  // namespace polytop
