// SPDX-License-Identifier: Apache-2.0
#include "v8/compiled_calls.h"

#include <algorithm>

namespace polytop {

CompiledCalls::CompiledCalls(std::span<const v8_inlined> inlined, std::span<const uint32_t> returns)
    : inlined_(inlined.begin(), inlined.end()), returns_(returns.begin(), returns.end()) {
  std::sort(returns_.begin(), returns_.end());
}

bool CompiledCalls::returnsTo(uint32_t offset) const {
  return offset > 0 && std::binary_search(returns_.begin(), returns_.end(), offset);
}

std::vector<PlacedCall> CompiledCalls::framesOf(SourcePosition position, uint64_t function) const {
  std::vector<PlacedCall> frames;
  size_t before = inlined_.size() + 1;
  while (position.isKnown() && position.inlining() < before) {
    before = position.inlining();
    if (before == 0) {
      frames.push_back({function, position});
      return frames;
    }
    frames.push_back({inlined_[before - 1].name, position});
    // A function is compiled in for a call of one that was compiled in before: the numbers fall, or it is no table of
    // V8's.
    position = SourcePosition(inlined_[before - 1].position);
  }
  return {};
}

size_t CompiledCalls::bytes() const {
  return sizeof *this + inlined_.size() * sizeof inlined_[0] + returns_.size() * sizeof returns_[0];
}

}  // namespace polytop
