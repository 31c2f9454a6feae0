// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bpf/abi.h"
#include "merge/native_role.h"

namespace polytop {

/// A frame of a stack, as far as its place among the others depends on it.
struct StackFrame {
  uint32_t number = 0;
  uint32_t hiddenNumber = 0;  ///< of a native frame where the frame of an interpreter is shown for it
  uint32_t function = 0;      ///< the number of its function; 0: not known
  uint8_t owner = INTERPRETER_NONE;
  uint8_t kind = 0;  ///< of an interpreter's frame: one of its own kinds, or INTERPRETED_STOP
  NativeRole role;
  bool isStop = false;  ///< no frame, but why the native walk ended: there are more, and nobody knows which
  uint16_t place = 0;   ///< of an interpreter's word that tells a place: the index of a native frame and 1; 0: none

  bool isNative() const { return owner == INTERPRETER_NONE; }
};

using StackFrames = std::span<const StackFrame>;

/// Whether the walk of the native frames ended early. That of the kernel's part may have too, which is further in.
inline bool isStoppedWalk(StackFrames native) { return !native.empty() && native.back().isStop; }

/// The frames of a stack in the order in which they are shown.
class MergedFrames {
 public:
  struct Frame {
    uint32_t number;
    bool isNative;
    bool isHidden;
  };

  void clear() { frames_.clear(); }
  void push(const StackFrame& frame) { frames_.push_back({frame.number, frame.isNative(), false}); }
  void pushNative(const StackFrame& frame, bool isHidden) {
    frames_.push_back({isHidden ? frame.hiddenNumber : frame.number, true, isHidden});
  }
  void push(const Frame& frame) { frames_.push_back(frame); }

  auto begin() const { return frames_.begin(); }
  auto end() const { return frames_.end(); }

 private:
  std::vector<Frame> frames_;
};

}  // namespace polytop
