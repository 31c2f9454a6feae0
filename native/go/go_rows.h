// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "arch/go_code.h"
#include "elf/elf_image.h"

namespace polytop {

/// How the frame of some code of a Go program is left.
enum class GoFrame : uint8_t {
  kDepth,      ///< the return address is at sp + depth
  kFp,         ///< by the frame pointer: sp may be that of another stack
  kCopiedSp,   ///< as kDepth, from what sp was, which arch::kGoCopiedSp holds: only a leaf does that
  kCallsC,     ///< sp is of the stack of C, which leads to the goroutine's: CFA_GO_CALLS_C
  kWorksFor,   ///< sp is of the thread's stack; the thread leads to the goroutine's: CFA_GO_WORKS_FOR
  kRegister,   ///< the return address was popped into a register: only a leaf does that
  kStart,      ///< as kDepth where it was called; nothing is above it where a thread begins in it
  kEnd,        ///< nothing is above it on its stack
  kElsewhere,  ///< it was called from another stack, and nothing tells where
  kUnknown,    ///< not told
};

/// Holds from its address on, up to that of the next row.
struct GoRow {
  uint64_t address = 0;
  int32_t depth = 0;
  GoFrame frame = GoFrame::kUnknown;
  bool isStart = false;  ///< of a function
  bool savesFp = false;  ///< the caller's fp lies below the return address
};

struct GoRows {
  std::vector<GoRow> rows;               ///< by ascending address
  arch::GoCallOfC callOfC = {};          ///< for rows of the kind kCallsC
  arch::GoSystemStack systemStack = {};  ///< for rows of the kind kWorksFor
};

/**
 * The unwind rows of a Go program by its own table (see GoTable); none where it has none.
 * Functions that go on on another stack than their caller's are followed by what their code leaves in memory, which
 * the unwind information of the compiler does not tell.
 */
GoRows readGoRows(const ElfImage& file);

}  // namespace polytop
