// SPDX-License-Identifier: Apache-2.0
#include "kernel/tick_cost.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <vector>

#include "util/clock.h"

namespace polytop {

namespace {

constexpr uint64_t kLongestLook = 50'000'000;
/// On a CPU of its own for so long the thread sees ticks enough.
constexpr uint64_t kEnoughLook = 14'000'000;
/// Two looks at the clock are closer to each other, unless something came between.
constexpr uint64_t kShortestGap = 800;
/// A longer one is another thread's turn.
constexpr uint64_t kLongestGap = 200'000;
constexpr size_t kFewestTicks = 20;

}  // namespace

uint64_t measureTickCost(uint32_t frequency) {
  std::vector<uint64_t> gaps;
  uint64_t looked = 0, last = clockNanoseconds(CLOCK_MONOTONIC);
  const uint64_t latest = last + kLongestLook;
  while (looked < kEnoughLook && last < latest) {
    const uint64_t now = clockNanoseconds(CLOCK_MONOTONIC), gap = now - last;
    last = now;
    if (gap >= kLongestGap) continue;
    looked += gap;
    if (gap > kShortestGap) gaps.push_back(gap);
  }
  // There were so many ticks, and hardly anything else that is short takes as long.
  const size_t ticks = looked * frequency / kNanosecondsPerSecond;
  if (ticks < kFewestTicks || gaps.size() < ticks / 2) return 0;
  const auto middle = gaps.begin() + static_cast<ptrdiff_t>(std::min(ticks, gaps.size()) / 2);
  std::nth_element(gaps.begin(), middle, gaps.end(), std::greater<>());
  return *middle;
}

uint32_t allowedFrequency(uint32_t wanted) {
  std::ifstream file("/proc/sys/kernel/perf_event_max_sample_rate");
  uint32_t most = 0;
  return file >> most && most > 0 ? std::min(wanted, most) : wanted;
}

}  // namespace polytop
