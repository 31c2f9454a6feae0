// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bpf/abi.h"
#include "kernel/session.h"
#include "memory/memory_reader.h"

namespace polytop {

/// A stack with frames of interpreters whose lines are not known yet.
struct InterpretedStack {
  explicit InterpretedStack(const stack_record& of) : record(of) {
    const auto* first = reinterpret_cast<const uint64_t*>(&of + 1);
    words.assign(first, first + of.frame_count + 2 * of.interpreted_count);
  }
  /// Its interpreted frames: struct interpreted_frame as words of two each.
  uint64_t* interpreted() { return words.data() + record.frame_count; }

  stack_record record;
  std::vector<uint64_t> words;  ///< all frames, as they come behind the record
};

/// The lines of one interpreter's frames, where what the kernel side says of them is not the line that is wanted.
class FrameLines {
 public:
  virtual ~FrameLines() = default;
  /// Takes in a record of the ring if it is one of its own.
  virtual void take(uint32_t type, const void* data, size_t size) = 0;
  /// Puts lines into the frames of stacks that are its interpreter's.
  virtual void correct(std::span<InterpretedStack> stacks) = 0;
  /// The kernel side names everything anew: what it said before the last time but one is not referred to any more.
  virtual void renew() {}
  /// Whether so much is known that the kernel side is to name everything anew.
  virtual bool isFull() const { return false; }
  /// Begins a refresh.
  virtual void beginRefresh() {}
};

/// Makes the finder of lines of each interpreter. `session` and `memory` must outlive them.
std::vector<std::unique_ptr<FrameLines>> makeFrameLines(Session& session, MemoryReader& memory);

}  // namespace polytop
