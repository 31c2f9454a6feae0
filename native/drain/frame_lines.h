// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "drain/interpreted_stack.h"
#include "files/catalog.h"
#include "kernel/session.h"
#include "memory/memory_reader.h"
#include "merge/merge.h"

namespace polytop {

/// The lines of one interpreter's frames, where what the kernel side says of them is not the line that is wanted.
class FrameLines {
 public:
  virtual ~FrameLines() = default;
  /// Takes in a record of the ring if it is one of its own.
  virtual void take(uint32_t type, const void* data, size_t size) = 0;
  /// Puts lines into the frames of stacks that are its interpreter's; and these among the native ones, where the kernel
  /// side says the place of each.
  virtual void correct(std::span<InterpretedStack> stacks) = 0;
  /// The kernel side names everything anew: what it said before the last time but one is not referred to any more.
  virtual void renew() {}
  /// Whether so much is known that the kernel side is to name everything anew.
  virtual bool isFull() const { return false; }
  /// Begins a refresh.
  virtual void beginRefresh() {}
  /// Finds the places of the interpreter's frames, where the kernel side does not say them; else null.
  virtual const Interleaver* interleaver() const { return nullptr; }
};

/// Makes the finder of lines of each interpreter. `session`, `catalog` and `memory` must outlive them.
std::vector<std::unique_ptr<FrameLines>> makeFrameLines(Session& session, Catalog& catalog, MemoryReader& memory);

}  // namespace polytop
