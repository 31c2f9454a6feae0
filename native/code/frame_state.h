// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "arch/arch.h"
#include "arch/instruction.h"
#include "bpf/abi.h"

namespace polytop {

/// What the frame pointer's register holds.
enum class FpHolds : uint8_t {
  kCallers,  ///< what the caller had there
  kFrame,    ///< an address in this frame
  kOther,
};

/// Where a function's frame is before one of its instructions. Distances are in bytes below the canonical frame address
/// (CFA): what sp was before the call.
struct FrameState {
  static constexpr int32_t kUnknown = INT32_MIN;

  int32_t depth = -arch::kReturnAddressOffset;  ///< CFA - sp; kUnknown: it is told by fp alone
  int32_t fpDistance = 0;                       ///< CFA - fp, where that is kFrame
  int32_t savedFp = 0;                          ///< the caller's fp lies at CFA - savedFp; 0: nowhere
  FpHolds fp = FpHolds::kCallers;
  bool isBehindSystemCall = false;  ///< so that this may be a new thread
  bool isEnd = false;               ///< there is no caller

  bool operator==(const FrameState&) const = default;

  /// Whether sp and fp are as a caller left them: so a function begins, returns and jumps to another one.
  bool isStart() const { return isEnd || (depth == -arch::kReturnAddressOffset && fp == FpHolds::kCallers); }
};

/// Changes a state to that behind an instruction, for what goes on there. Returns false where the frame is lost or the
/// instruction contradicts the state.
bool step(FrameState& state, const arch::Instruction& instruction);

/// What holds where control comes from two places; nothing where they contradict each other.
std::optional<FrameState> join(const FrameState& left, const FrameState& right);

/// How the walk finds the caller in a state.
unwind_rule ruleOf(const FrameState& state);

}  // namespace polytop
