// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "code/frame_state.h"
#include "util/hash.h"

namespace polytop {

/// Numbers equal states. 0 is the number of none.
class StateSet {
 public:
  using Number = uint16_t;

  StateSet() : states_(1) {}

  const FrameState& operator[](Number number) const { return states_[number]; }
  size_t size() const { return states_.size(); }

  /// The number of a state; 0 where there are too many. The most seen in a file is 1,200.
  Number numberOf(const FrameState& state) {
    const auto [place, isNew] = numbers_.try_emplace(state, static_cast<Number>(states_.size()));
    if (!isNew) return place->second;
    if (states_.size() > kMost) {
      numbers_.erase(place);
      return 0;
    }
    states_.push_back(state);
    return place->second;
  }

 private:
  static constexpr size_t kMost = 1 << 14;

  struct Hash {
    size_t operator()(const FrameState& state) const {
      const uint64_t flags = static_cast<uint64_t>(state.fp) << 2 | state.isBehindSystemCall << 1 | state.isEnd;
      const uint64_t places =
          static_cast<uint64_t>(static_cast<uint32_t>(state.depth)) << 32 | static_cast<uint32_t>(state.savedFp);
      return mix(mix(flags, places), static_cast<uint32_t>(state.fpDistance));
    }
  };

  std::vector<FrameState> states_;
  std::unordered_map<FrameState, Number, Hash> numbers_;
};

}  // namespace polytop
