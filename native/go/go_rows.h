// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "elf/elf_image.h"

namespace polytop {

/// How the frame of some code of a Go program is left.
enum class GoFrame {
  kDepth,     ///< the return address is at sp + depth
  kFp,        ///< by the frame pointer: sp may be that of another stack
  kRegister,  ///< the return address was popped into a register: only a leaf does that
  kStart,     ///< as kDepth where it was called; nothing is above it where a thread begins in it
  kEnd,       ///< nothing is above it on its stack
  kUnknown,   ///< not told
};

/// Holds from its address on, up to that of the next row.
struct GoRow {
  uint64_t address = 0;
  GoFrame frame = GoFrame::kUnknown;
  int32_t depth = 0;
  bool isStart = false;  ///< of a function
};

/**
 * The unwind rows of a Go program by its own table (see GoTable), by ascending address; none where it has none.
 * Functions that go on on another stack than their caller's end the walk: the unwind information of the
 * compiler does not follow them there, what called them is not above them.
 */
std::vector<GoRow> readGoRows(const ElfImage& file);

}  // namespace polytop
