// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bpf/totals.h"
#include "turns/mutex.h"
#include "util/failure.h"

namespace polytop {

/// The CPUs that are online; empty where that cannot be read.
std::vector<uint32_t> onlineCpus();

/// A counter of the kernel that takes a sample each time it overflows; src/tick/events.ts lists them.
struct EventSource {
  std::string name;
  uint32_t type = 0;  ///< of perf_event_attr, as is the next
  uint64_t config = 0;
  bool isClock = false;  ///< it overflows at even times
};

/// Whose ticks an event takes, in the terms of perf_event_open(2); -1: all.
struct EventPlace {
  int thread = -1;
  int cpu = -1;
};

/// Opens an event that is yet to be enabled, for so many samples a second. Returns its descriptor, or -1 with errno
/// set.
int openEvent(const EventSource& source, uint32_t frequency, EventPlace place);

struct EventReading {
  uint64_t count = 0;
  uint64_t enabled = 0;  ///< ns for which the event was enabled
};

/// All 0 where the event cannot be read.
EventReading readEvent(int event);

/**
 * The sampling event of each online CPU, with the BPF program attached.
 *
 * A clock interrupts idle CPUs too, which costs energy and, in a virtual machine, time of the machine around it. A
 * CPU that has been idle for a while rests: it ticks rarely, and the first tick that meets work stands for all those
 * left out, so that sums stay right. The program tells of it, and the CPU ticks at the full rate again.
 */
class CpuEvents {
 public:
  CpuEvents() = default;
  ~CpuEvents();
  CpuEvents(const CpuEvents&) = delete;
  CpuEvents& operator=(const CpuEvents&) = delete;

  /// `rates` is the BPF map of that name, with room for `possibleCpus`. Throws a Failure, as those that follow do.
  void open(const bpf_program* program, int rates, uint32_t possibleCpus, std::vector<EventSource> sources);
  /// Opens and starts the event on each online CPU, at `frequency` samples a second: of the first source that can
  /// be had.
  void attach(uint32_t frequency);
  void detach();
  /// Changes the rate of the running events; nothing that they counted is lost. After a Failure some CPUs have the
  /// new rate.
  void setFrequency(uint32_t frequency);
  /// Follows CPUs that came online or went offline since, and lets those rest that have been idle. `totals`: what the
  /// program counted on each possible CPU.
  void follow(const std::vector<cpu_totals>& totals);
  /// From now on no CPU rests.
  void keepAwake();
  /// A CPU that rested has work. Any thread may call it.
  void wake(uint32_t cpu);

  const EventSource& source() const { return sources_.front(); }
  uint32_t frequency() const { return frequency_; }
  /// How many CPUs are sampled.
  uint32_t count() const { return static_cast<uint32_t>(events_.size()); }

 private:
  struct Event {
    uint32_t cpu = 0;
    int fd = -1;
    bpf_link* link = nullptr;
    uint64_t lookedAt = 0;  ///< when its ticks were last compared, CLOCK_MONOTONIC
    uint64_t ticks = 0;     ///< of its CPU at that time
  };

  Event startEvent(uint32_t cpu);
  static void stopEvent(Event& event);
  void stopAll();
  bool setRate(const Event& event, uint32_t weight);
  uint32_t restingWeight() const;
  uint64_t period() const;
  void followOnline();
  void restartStopped(const std::vector<cpu_totals>& totals, uint64_t now);
  bool tooFewTicks(Event& event, const std::vector<cpu_totals>& totals, uint64_t now) const;
  void restIdle(const std::vector<cpu_totals>& totals, uint64_t now);

  Mutex mutex_;  ///< guards what follows where wake() meets the others
  const bpf_program* program_ = nullptr;
  cpu_rate* rates_ = nullptr;  ///< by CPU, in the memory of the program
  size_t ratesSize_ = 0;
  uint32_t possibleCpus_ = 0;
  std::vector<EventSource> sources_;  ///< those that have not failed
  std::vector<Event> events_;
  uint32_t frequency_ = 99;
  bool mayRest_ = true;
  uint64_t startedAt_ = 0;  ///< when the events were attached; 0: they are not
};

}  // namespace polytop
