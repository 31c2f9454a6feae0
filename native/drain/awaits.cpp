// SPDX-License-Identifier: Apache-2.0
#include "drain/awaits.h"

#include <algorithm>
#include <iterator>

namespace polytop {

namespace {

uint32_t kindOf(const interpreted_frame& frame) { return frame.meta & INTERPRETED_KIND_MASK; }

/// Perl's words by which its frames are paired with native ones have the same numbers, and its frames await nothing.
bool isPlace(const interpreted_frame& frame) {
  const uint32_t owner = ownerOf(frame);
  return owner != INTERPRETER_NONE && owner != INTERPRETER_PERL && kindOf(frame) == INTERPRETED_AWAITED_AT;
}

bool isAwait(const interpreted_frame& frame) {
  return kindOf(frame) >= INTERPRETED_AWAITS && kindOf(frame) <= INTERPRETED_SCHEDULED_BY;
}

}  // namespace

void placeAwaits(InterpretedStack& stack) {
  std::vector<interpreted_frame>& others = stack.interpreted;
  const auto place = std::ranges::find_if(others, isPlace);
  if (place == others.end()) return;
  const auto first = place + 1;
  const auto last = std::find_if_not(first, others.end(), isAwait);
  // Frames of an interpreter that are in their places already are not counted.
  size_t inner = place->name;
  auto at = stack.native.begin();
  for (; at != stack.native.end(); ++at) {
    if (ownerOf(*at) == INTERPRETER_NONE && inner-- == 0) break;
  }
  for (auto frame = at; frame != stack.native.end(); ++frame) {
    if (ownerOf(*frame) == INTERPRETER_NONE && frameKind(frame->name) != FRAME_STOP)
      frame->meta = INTERPRETED_SCHEDULES;
  }
  stack.native.insert(at, first, last);
  others.erase(place, last);
}

}  // namespace polytop
