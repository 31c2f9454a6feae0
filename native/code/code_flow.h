// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "code/state_set.h"

namespace polytop {

/// A place that is met on the way through a function, as an offset in the code that may lie outside of it.
struct FlowTarget {
  int64_t offset;
  uint32_t lastCall;  ///< CodeFlow's own
};

/// What is known of a place that is followed.
enum class FlowTrust {
  kGuessed,  ///< something may begin there. No call returns to padding: what lies behind would be another function
  kCertain,  ///< a function begins there
  /// The rest of a function that may never return: each call does, but one before the end. It counts only as a whole.
  kWhole,
};

/// What was met on the ways through a function.
struct FlowFound {
  /// What lies behind a call of a function that never returns, and may be its end.
  struct Rest {
    uint32_t offset;
    StateSet::Number state;
  };

  uint32_t returns = 0;               ///< that find sp and fp as they must be
  uint32_t joins = 0;                 ///< with code that was known before in the same state
  bool isLinkedJump = false;          ///< it ends with a jump to where its file's data says
  std::vector<FlowTarget> calls;      ///< what is called
  std::vector<FlowTarget> addresses;  ///< what may be called by its address
  std::vector<FlowTarget> tails;      ///< jumps to what may be functions, as if these were called
  std::vector<Rest> rests;
  bool isWhole = false;                      ///< all code of the rest of a function was come to, in one state each
  std::vector<StateSet::Number> tableJumps;  ///< states in which a jump goes where a register says

  /// Whether what was assumed at the start led to what a caller can see.
  bool isProven() const { return returns + joins > 0 || isLinkedJump || isWhole; }
};

/// What a step of CodeFlow takes of the budget of a file at least: some 30 ns.
inline constexpr uint64_t kBudgetOfStep = 2;

/// What is known of each byte of a piece of code. The same memory is used for one piece after the other.
struct FlowMemory {
  std::vector<StateSet::Number> states;
  std::vector<uint8_t> marks;
  std::vector<uint32_t> lastCalls;
};

/**
 * Follows the frame through a piece of code, from instruction to instruction and over all jumps that say where they go:
 * each instruction has one state, or the function is not understood. A call may never return, and then something else
 * lies behind it: that counts only if it leads to a return, or to what is known, with the frame that these must have.
 */
class CodeFlow {
 public:
  /// `code`, at an offset of its file, must outlive it and be shorter than 2 GB. `steps`: how many instructions may be
  /// looked at in all.
  CodeFlow(std::span<const uint8_t> code, uint64_t offset, StateSet& states, FlowMemory& memory, uint64_t& steps);

  /// A function begins there: other functions end before. `isCalled`: it is called, which a mere symbol does not say.
  void markStart(uint32_t offset, bool isCalled);
  bool isCalled(uint32_t offset) const { return marks_[offset] & kCalled; }
  bool isStart(uint32_t offset) const { return marks_[offset] & (kCalled | kSymbol); }

  /// Follows code from `offset` in a state. Returns false where that is not understood or contradicts what is known;
  /// then nothing has changed. Otherwise its states hold until undo().
  bool follow(uint32_t offset, const FrameState& state, FlowTrust trust, FlowFound& found);
  /// Forgets what the last follow() added.
  void undo() { undoTo(0); }

  /// The state before the instruction at an offset; 0 where none was come to.
  StateSet::Number at(uint32_t offset) const { return states_[offset]; }
  /// The length of that instruction.
  uint32_t lengthAt(uint32_t offset) const { return marks_[offset] >> kLengthShift; }
  std::span<const uint8_t> from(uint32_t offset) const { return code_.subspan(offset); }
  bool isSpent() const { return steps_ == 0; }

 private:
  /// Beside the length of the instruction there, where it was looked at.
  enum Mark : uint8_t { kCalled = 1, kSymbol = 2, kFresh = 4, kNoReturn = 8, kMarks = 15 };
  static constexpr uint32_t kLengthShift = 4;
  enum class Arrival { kGoesOn, kIsKnown, kIsWrong };
  struct Place {
    uint32_t offset;
    StateSet::Number state;
    uint32_t lastCall;  ///< that was assumed to return on the way there
  };
  struct Change {
    uint32_t offset;
    StateSet::Number before;
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kTable = 1u << 31;  ///< with a state: a jump by a table in that

  /// What lies behind a call up to the next calls: the way there, and whether it ends as a function must.
  struct Link {
    uint32_t from;
    uint32_t to;
  };

  bool followAll(const Place& start, FlowFound& found);
  void forgetUnproven(FlowFound& found);
  bool followWay(Place place, FlowFound& found, std::vector<Place>& jumps, std::vector<Place>& behindCalls);
  Arrival arrive(Place& place, bool jumps, FlowFound& found);
  bool leave(const Place& place, const arch::Instruction& instruction, FlowFound& found, std::vector<Place>& jumps,
             std::vector<Place>& behindCalls);
  bool isLastJump(const Place& place);
  bool isWhole(const FlowFound& found) const;
  uint32_t lengthOfPadding(uint32_t offset) const;
  bool isAtEnd(uint32_t offset) const;
  void set(uint32_t offset, StateSet::Number state);
  void settle(size_t from);
  void undoTo(size_t size);

  const uint32_t phase_;  ///< of the code, within what functions are aligned to
  const std::span<const uint8_t> code_;
  StateSet& set_;
  uint64_t& steps_;
  std::vector<StateSet::Number>& states_;
  std::vector<uint8_t>& marks_;
  std::vector<uint32_t>& lastCalls_;  ///< of the way that came to an instruction first
  std::vector<Link> links_;           ///< by calls: what lies behind the first leads to what lies behind the second
  std::vector<uint32_t> proven_;      ///< calls behind which there is what proves that they return
  std::vector<Change> changes_;       ///< of the last follow()
  std::vector<uint32_t> noReturn_;    ///< calls that are marked so, of the last follow()
  uint32_t origin_ = 0;
  FlowTrust trust_ = FlowTrust::kCertain;
  uint32_t blamed_ = kNone;  ///< the last call on the way that led to a contradiction
};

}  // namespace polytop
