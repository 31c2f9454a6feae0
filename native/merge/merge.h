// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "merge/merged_frames.h"

namespace polytop {

/// Knows where the frames of an interpreter that keeps a stack of its own belong among the native frames.
struct Interleaver {
  uint32_t owner;  ///< enum interpreter_kind
  /// Writes the frames of both lists, native ones leaf first and its own innermost first, into one. Says whether all of
  /// its own have found their places. `isTruncated`: one of the walks hit its limit.
  bool (*interleave)(StackFrames native, StackFrames own, bool isTruncated, MergedFrames& into);
  /// Whether a word of this kind may be shown: others only tell where frames belong.
  bool (*isShown)(uint32_t kind);
  /// Whether a word of this kind says where code is, as one of a native frame does.
  bool (*isCode)(uint32_t kind);
  uint32_t unpaired;  ///< the counter of new stacks in which some did not
};

using Interleavers = std::span<const Interleaver* const>;

/// That of an interpreter; null where its frames are in their places already, and for native frames.
const Interleaver* interleaverOf(Interleavers interleavers, uint32_t owner);

/**
 * Makes one list of the two that the kernel side sends of a stack with frames of interpreters: `native` ones, leaf
 * first, among which some interpreters' are in their places already, and those of others, of each innermost first.
 * Returns the interpreters that did not find the places of all their frames: bits, by enum interpreter_kind.
 */
uint32_t mergeFrames(StackFrames native, StackFrames interpreted, bool isTruncated, Interleavers interleavers,
                     MergedFrames& into);

}  // namespace polytop
