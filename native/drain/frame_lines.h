// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bpf/abi.h"
#include "kernel/session.h"
#include "memory/memory_reader.h"

namespace polytop {

/// The lines of one interpreter's frames, where what the kernel side says of them is not the line that is wanted.
class FrameLines {
 public:
  virtual ~FrameLines() = default;
  /// Takes in a record of the ring if it is one of its own.
  virtual void take(uint32_t type, const void* data, size_t size) = 0;
  /// Puts lines into the frames of a stack that are its interpreter's: struct interpreted_frame as words of two each.
  virtual void correct(const stack_record& record, uint64_t* frames) = 0;
  /// The kernel side names everything anew: what it said before the last time but one is not referred to any more.
  virtual void renew() {}
  /// Begins a refresh.
  virtual void beginRefresh() {}
};

/// Makes the finder of lines of each interpreter. `session` and `memory` must outlive them.
std::vector<std::unique_ptr<FrameLines>> makeFrameLines(Session& session, MemoryReader& memory);

}  // namespace polytop
