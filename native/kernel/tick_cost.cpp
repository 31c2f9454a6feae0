// SPDX-License-Identifier: Apache-2.0
#include "kernel/tick_cost.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>

#include "util/clock.h"
#include "util/file_descriptor.h"

namespace polytop {

namespace {

constexpr uint32_t kFrequency = 4999;
constexpr uint64_t kLongestLook = 50'000'000;
/// On a CPU of its own for so long the thread sees ticks enough.
constexpr uint64_t kEnoughLook = 14'000'000;
/// Two looks at the clock are closer to each other, unless something came between.
constexpr uint64_t kShortestGap = 800;
/// A longer one is another thread's turn.
constexpr uint64_t kLongestGap = 200'000;
constexpr size_t kFewestTicks = 20;

/// A program that lets the kernel do all that it does for a sample, and no more. Not valid where none may be loaded.
FileDescriptor loadNothing() {
  const bpf_insn instructions[] = {
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .src_reg = 0, .off = 0, .imm = 0},
      {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
  };
  return FileDescriptor(bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "nothing", "Dual MIT/GPL", instructions,
                                      std::size(instructions), nullptr));
}

/// Counts what this thread does from now on.
FileDescriptor startOwnEvent(const EventSource& source, int program, uint32_t frequency) {
  FileDescriptor event(openEvent(source, frequency, {.thread = 0, .cpu = -1}));
  const bool isStarted = event.valid() && ioctl(event.get(), PERF_EVENT_IOC_SET_BPF, program) == 0 &&
                         ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0) == 0;
  return isStarted ? std::move(event) : FileDescriptor();
}

uint64_t measureGaps(uint32_t frequency) {
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

}  // namespace

uint64_t measureTickCost(std::vector<EventSource>& sources) {
  const uint32_t frequency = allowedFrequency(kFrequency);
  const FileDescriptor program = loadNothing();
  if (!program.valid()) return 0;
  for (auto source = sources.begin(); source != sources.end();) {
    const FileDescriptor event = startOwnEvent(*source, program.get(), frequency);
    if (!event.valid()) {
      ++source;
      continue;
    }
    const uint64_t nanoseconds = measureGaps(frequency);
    if (readEvent(event.get()).count > 0 || source + 1 == sources.end()) return nanoseconds;
    source = sources.erase(source);
  }
  return 0;
}

uint32_t allowedFrequency(uint32_t wanted) {
  std::ifstream file("/proc/sys/kernel/perf_event_max_sample_rate");
  uint32_t most = 0;
  return file >> most && most > 0 ? std::min(wanted, most) : wanted;
}

}  // namespace polytop
