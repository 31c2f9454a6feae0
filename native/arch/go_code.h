// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace polytop::arch {

/// Code of a function, from some instruction of it on. The functions below look no further than it reaches.
using Code = std::span<const uint8_t>;

/// Bytes of code that the next two look at.
constexpr size_t kFpSaveBytes = 8;

/// Whether the caller's fp was pushed just before `code`, which then makes sp the frame pointer.
bool isBehindFpPush(uint8_t before, Code code);

/// The bytes of the instruction at the start of `code` if it saves the caller's fp below the return address, which is
/// `depth` above sp; else 0.
size_t fpSaveLength(Code code, int32_t depth);

/// Where in the code of a row of a function with a frame the frame pointer is set up. Before Go 1.21 (obj6.go)
/// mov %rbp, n(%rsp) and lea n(%rsp), %rbp follow the allocation; later mov %rsp, %rbp precedes it.
size_t behindFpSetUp(Code code);

/// There: behind mov n(%rsp), %rbp, if the frame is taken down behind it up to the end; else the end.
size_t behindFpRestored(Code code);

/// A part of a function in which sp is of another stack than where it was called.
struct OnOtherStack {
  size_t copied;    ///< from here on a register holds what sp was
  size_t stored;    ///< from here on it is in memory
  size_t restored;  ///< from here on sp is what it was
};

/// How runtime.asmcgocall (runtime/asm_amd64.s of Go 1.18 to 1.26) calls C: with a goroutine, and without.
struct GoCallOfC {
  OnOtherStack parts[2];
  int32_t goroutinePlace;  ///< from sp on; a word below it is the distance to the end of its stack
};
std::optional<GoCallOfC> findGoCallOfC(Code code);
/// The DWARF number of the register that holds what sp was.
constexpr uint8_t kGoCopiedSp = 1;

/// How runtime.systemstack calls a function on the stack of its thread, and what leads back to the goroutine: fields of
/// CFA_GO_WORKS_FOR (bpf/abi.h).
struct GoSystemStack {
  size_t begin;
  size_t end;
  int32_t own;
  int32_t toOther;
  uint8_t toThread;
  int8_t sp;
};
std::optional<GoSystemStack> findGoSystemStack(Code code);

}  // namespace polytop::arch
