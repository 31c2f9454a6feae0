// SPDX-License-Identifier: Apache-2.0
#include "kernel/tick_cost.h"

#include <bpf/bpf.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "bpf/totals.h"
#include "util/clock.h"

namespace polytop {

namespace {

/// Two looks at the clock are closer to each other, unless something came between.
constexpr uint64_t kShortestGap = 800;
/// A longer one is another thread's turn.
constexpr uint64_t kLongestGap = 200'000;
/// So many ticks are told from the few interrupts of others.
constexpr uint64_t kFewestTicks = 20;

cpu_totals totalsOf(const Session& session, int cpu) {
  std::vector<cpu_totals> totals(session.possibleCpus());
  const uint32_t zero = 0;
  if (cpu < 0 || static_cast<size_t>(cpu) >= totals.size() ||
      bpf_map_lookup_elem(session.mapFd("totals"), &zero, totals.data()) != 0)
    return {};
  return totals[static_cast<size_t>(cpu)];
}

}  // namespace

uint64_t measureTickCost(const Session& session, std::chrono::nanoseconds spin) {
  const int cpu = sched_getcpu();
  const cpu_totals before = totalsOf(session, cpu);
  std::vector<uint64_t> gaps;
  uint64_t last = clockNanoseconds(CLOCK_MONOTONIC);
  const uint64_t end = last + static_cast<uint64_t>(spin.count());
  while (last < end) {
    const uint64_t now = clockNanoseconds(CLOCK_MONOTONIC), gap = now - last;
    if (gap > kShortestGap && gap < kLongestGap) gaps.push_back(gap);
    last = now;
  }
  const cpu_totals after = totalsOf(session, cpu);
  const uint64_t ticks = after.ticks - before.ticks;
  if (sched_getcpu() != cpu || ticks < kFewestTicks || gaps.size() < ticks / 2) return 0;
  std::nth_element(gaps.begin(), gaps.begin() + static_cast<ptrdiff_t>(gaps.size() / 2), gaps.end());
  const uint64_t whole = gaps[gaps.size() / 2], program = (after.nanoseconds - before.nanoseconds) / ticks;
  return whole > program ? whole - program : 0;
}

uint32_t allowedFrequency(uint32_t wanted) {
  std::ifstream file("/proc/sys/kernel/perf_event_max_sample_rate");
  uint32_t most = 0;
  return file >> most && most > 0 ? std::min(wanted, most) : wanted;
}

}  // namespace polytop
