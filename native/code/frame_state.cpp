// SPDX-License-Identifier: Apache-2.0
#include "code/frame_state.h"

namespace polytop {
namespace {

using arch::Effect;

/// No frame is larger. Sums of two distances are numbers.
constexpr int32_t kMostDepth = 1 << 28;

bool isDepth(int32_t depth) { return depth >= -arch::kReturnAddressOffset && depth <= kMostDepth; }

/// What lies below sp may be written over at any time. False where the caller's fp is lost so.
bool forgetBelowSp(FrameState& state) {
  if (state.savedFp > state.depth) {
    if (state.fp != FpHolds::kCallers) return false;
    state.savedFp = 0;
  }
  return isDepth(state.depth);
}

bool moveSp(FrameState& state, int32_t by) {
  if (state.depth == FrameState::kUnknown) return true;
  if (by > kMostDepth || by < -kMostDepth) return false;
  state.depth -= by;
  return forgetBelowSp(state);
}

/// fp gets a value that is none of the frame. Its caller's must be saved: each function gives it back.
bool loseFp(FrameState& state) {
  if (state.depth == FrameState::kUnknown || (state.fp == FpHolds::kCallers && state.savedFp == 0)) return false;
  state.fp = FpHolds::kOther;
  state.fpDistance = 0;
  return true;
}

/// fp is read from so far below the CFA.
bool loadFp(FrameState& state, int32_t from) {
  if (state.depth == FrameState::kUnknown) return false;
  if (state.savedFp != from && !loseFp(state)) return false;
  if (state.savedFp == from) {
    state.fp = FpHolds::kCallers;
    state.fpDistance = 0;
  }
  return true;
}

bool storeFp(FrameState& state, int32_t at) {
  if (state.fp == FpHolds::kCallers) {
    if (state.savedFp == 0 && at > -arch::kReturnAddressOffset && at <= state.depth) state.savedFp = at;
    return true;
  }
  // What was saved there is written over.
  return state.savedFp != at;
}

bool pushFp(FrameState& state) {
  if (!moveSp(state, -arch::kWordBytes)) return false;
  return state.depth == FrameState::kUnknown || storeFp(state, state.depth);
}

bool popFp(FrameState& state) { return loadFp(state, state.depth) && moveSp(state, arch::kWordBytes); }

bool setFpToFrame(FrameState& state, int32_t distance) {
  if (state.fp == FpHolds::kCallers && state.savedFp == 0) return false;
  state.fp = FpHolds::kFrame;
  state.fpDistance = distance;
  return distance >= -kMostDepth && distance <= kMostDepth;
}

bool setSpByFp(FrameState& state, int32_t by) {
  if (state.fp != FpHolds::kFrame || by > kMostDepth || by < -kMostDepth) return false;
  state.depth = state.fpDistance - by;
  return forgetBelowSp(state);
}

bool zeroFp(FrameState& state) {
  // A thread's first function marks the end of the stack so (psABI, 3.4.1), where a system call began the thread.
  const bool isFirst = state.isBehindSystemCall && state.fp == FpHolds::kCallers && state.savedFp == 0;
  if (!isFirst) return loseFp(state);
  state = {};
  state.isEnd = true;
  return true;
}

}  // namespace

bool step(FrameState& state, const arch::Instruction& instruction) {
  if (state.isEnd) return instruction.effect != Effect::kInvalid;
  const bool knowsSp = state.depth != FrameState::kUnknown;
  const int32_t value = instruction.value;
  switch (instruction.effect) {
    case Effect::kInvalid:
      return false;
    case Effect::kPush:
      return moveSp(state, -arch::kWordBytes);
    case Effect::kPushFp:
      return pushFp(state);
    case Effect::kPop:
      return moveSp(state, arch::kWordBytes);
    case Effect::kPopFp:
      return popFp(state);
    case Effect::kMoveSp:
      return moveSp(state, value);
    case Effect::kMoveFp:
      if (state.fp != FpHolds::kFrame) return loseFp(state);
      return value >= -kMostDepth && value <= kMostDepth && setFpToFrame(state, state.fpDistance - value);
    case Effect::kAlignSp:
    case Effect::kLoseSp:
      state.depth = FrameState::kUnknown;
      return state.fp == FpHolds::kFrame;
    case Effect::kLoseFp:
      return loseFp(state);
    case Effect::kZeroFp:
      return zeroFp(state);
    case Effect::kFpFromSp:
      return knowsSp && value >= -kMostDepth && value <= kMostDepth && setFpToFrame(state, state.depth - value);
    case Effect::kSpFromFp:
      return setSpByFp(state, value);
    case Effect::kStoreFp:
      return !knowsSp || value < 0 || value > kMostDepth || storeFp(state, state.depth - value);
    case Effect::kLoadFp:
      return loadFp(state, knowsSp && value >= 0 && value <= kMostDepth ? state.depth - value : FrameState::kUnknown);
    case Effect::kEnter:
      return knowsSp && pushFp(state) && setFpToFrame(state, state.depth) && moveSp(state, -value);
    case Effect::kLeave:
      return setSpByFp(state, 0) && popFp(state);
    case Effect::kCall:
    case Effect::kIndirectCall:
      state.isBehindSystemCall = false;
      return true;
    case Effect::kSystemCall:
      state.isBehindSystemCall = true;
      return true;
    default:
      return true;
  }
}

std::optional<FrameState> join(const FrameState& left, const FrameState& right) {
  FrameState both = left;
  both.isBehindSystemCall = left.isBehindSystemCall && right.isBehindSystemCall;
  if (left.isEnd != right.isEnd) return std::nullopt;
  if (left.fp != right.fp || (left.fp == FpHolds::kFrame && left.fpDistance != right.fpDistance)) {
    both.fp = FpHolds::kOther;
    both.fpDistance = 0;
  }
  if (left.depth != right.depth) {
    if (both.fp != FpHolds::kFrame) return std::nullopt;
    both.depth = FrameState::kUnknown;
  }
  if (both.depth == FrameState::kUnknown && both.fp != FpHolds::kFrame) return std::nullopt;
  if (left.savedFp != right.savedFp) {
    if (both.fp != FpHolds::kCallers) return std::nullopt;
    both.savedFp = 0;
  }
  return both;
}

unwind_rule ruleOf(const FrameState& state) {
  unwind_rule rule{};
  if (state.isEnd) {
    rule.cfa = CFA_END;
    return rule;
  }
  // Where fp points elsewhere than compilers let it, sp is what code goes by.
  const bool isFramePointer = state.fpDistance == arch::kFrameBytes && state.savedFp == arch::kFrameBytes;
  const bool byFp = state.fp == FpHolds::kFrame && (isFramePointer || state.depth == FrameState::kUnknown);
  rule.cfa = byFp ? CFA_FP : CFA_SP;
  rule.cfa_offset = byFp ? state.fpDistance : state.depth;
  rule.ra_offset = arch::kReturnAddressOffset;
  if (state.savedFp == 0) return rule;
  // Also where fp still holds it: assembly calls functions of its own that do not give fp back.
  rule.fp = FP_CFA;
  rule.fp_offset = -state.savedFp;
  return rule;
}

}  // namespace polytop
