// SPDX-License-Identifier: Apache-2.0
#include "merge/merge.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace polytop {

namespace {

std::vector<StackFrame> framesOf(StackFrames frames, uint32_t owner) {
  std::vector<StackFrame> own;
  std::ranges::copy_if(frames, std::back_inserter(own), [owner](const StackFrame& it) { return it.owner == owner; });
  return own;
}

/// The interpreter of a stack with frames of one, none of them in its place, as nearly all are.
const Interleaver* onlyOne(StackFrames native, StackFrames interpreted, Interleavers interleavers) {
  if (interpreted.empty() || !std::ranges::all_of(native, &StackFrame::isNative)) return nullptr;
  const uint32_t owner = interpreted.front().owner;
  if (!std::ranges::all_of(interpreted, [owner](const StackFrame& it) { return it.owner == owner; })) return nullptr;
  return interleaverOf(interleavers, owner);
}

/// Makes one list of two that hold the same native frames in the same order.
MergedFrames combine(const MergedFrames& first, const MergedFrames& second) {
  MergedFrames both;
  auto next = second.begin();
  const auto takeUntilNative = [&] {
    for (; next != second.end() && !next->isNative; ++next) both.push(*next);
  };
  for (const MergedFrames::Frame& frame : first) {
    if (!frame.isNative) {
      both.push(frame);
      continue;
    }
    takeUntilNative();
    const bool isHiddenThere = next != second.end() && next->isHidden;
    both.push(isHiddenThere ? *next : frame);
    if (next != second.end()) ++next;
  }
  takeUntilNative();
  return both;
}

}  // namespace

const Interleaver* interleaverOf(Interleavers interleavers, uint32_t owner) {
  const auto found = std::ranges::find(interleavers, owner, &Interleaver::owner);
  return found == interleavers.end() ? nullptr : *found;
}

uint32_t mergeFrames(StackFrames native, StackFrames interpreted, bool isTruncated, Interleavers interleavers,
                     MergedFrames& into) {
  if (const Interleaver* only = onlyOne(native, interpreted, interleavers))
    return only->interleave(native, interpreted, isTruncated, into) ? 0 : 1u << only->owner;
  for (const StackFrame& frame : native) into.push(frame);
  const std::vector<StackFrame> plain = framesOf(native, INTERPRETER_NONE);
  uint32_t unpaired = 0;
  for (const Interleaver* interleaver : interleavers) {
    const std::vector<StackFrame> own = framesOf(interpreted, interleaver->owner);
    if (own.empty()) continue;
    MergedFrames list;
    if (!interleaver->interleave(plain, own, isTruncated, list)) unpaired |= 1u << interleaver->owner;
    into = combine(into, list);
  }
  return unpaired;
}

}  // namespace polytop
