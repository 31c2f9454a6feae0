// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bpf/abi.h"

namespace polytop {

/// What a word of a stack's native frames is; one of enum frame_kind.
inline uint32_t frameKind(uint64_t word) { return static_cast<uint32_t>(word >> FRAME_KIND_SHIFT); }

/// The interpreter that a frame is of, INTERPRETER_NONE for a native frame.
inline uint32_t ownerOf(const interpreted_frame& frame) {
  return frame.meta >> INTERPRETED_OWNER_SHIFT & INTERPRETED_OWNER_MASK;
}

/// A stack with frames of interpreters, as it came.
struct InterpretedStack {
  /// Becomes another one, and keeps the room of its lists.
  void assign(const stack_record& of) {
    record = of;
    const auto* words = reinterpret_cast<const uint64_t*>(&of + 1);
    native.clear();
    native.reserve(of.frame_count);
    for (const uint64_t* word = words; word != words + of.frame_count; word++) {
      const uint32_t mark = frameKind(*word) == FRAME_NATIVE ? INTERPRETED_NATIVE : 0;
      native.push_back({*word, 0, mark});
    }
    const auto* frames = reinterpret_cast<const interpreted_frame*>(words + of.frame_count);
    interpreted.assign(frames, frames + of.interpreted_count);
  }

  stack_record record = {};
  /// The native stack, leaf first: words in place of names. Code of files is marked as enum interpreted_kind says.
  std::vector<interpreted_frame> native;
  /// Frames that find their places in it when the stack is numbered (merge/), of each interpreter innermost first.
  std::vector<interpreted_frame> interpreted;
};

/// Stacks that wait for their lines to be put right. The room of those before stays for the next ones, unless it is
/// much.
class InterpretedStacks {
 public:
  void add(const stack_record& record) {
    if (count_ == stacks_.size()) stacks_.emplace_back();
    stacks_[count_++].assign(record);
  }
  std::span<InterpretedStack> all() { return std::span(stacks_).first(count_); }
  size_t size() const { return count_; }
  void clear() {
    size_t room = 0;
    for (const InterpretedStack& stack : stacks_) room += stack.native.capacity() + stack.interpreted.capacity();
    if (room > kMostRoom) stacks_ = {};
    count_ = 0;
  }

 private:
  /// In frames: 4 MB, more than 2,000 stacks of 100 frames take. A program may make its own much deeper.
  static constexpr size_t kMostRoom = 256 << 10;

  std::vector<InterpretedStack> stacks_;
  size_t count_ = 0;
};

}  // namespace polytop
