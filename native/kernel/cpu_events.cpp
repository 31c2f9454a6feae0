// SPDX-License-Identifier: Apache-2.0
#include "kernel/cpu_events.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "util/bytes.h"
#include "util/clock.h"
#include "util/file_descriptor.h"

namespace polytop {

namespace {

constexpr const char* kOnline = "/sys/devices/system/cpu/online";
/// The kernel writes at most a page.
constexpr size_t kOnlineBytes = 4096;

/// Ticks a second on a CPU that rests: fewer than an idle kernel's own timers, and a load is met within 1/8 s.
constexpr uint32_t kRestingHz = 8;
/// How long a CPU must have been idle before it rests.
constexpr uint64_t kIdleBeforeRest = kNanosecondsPerSecond;

/// An event with so few of the ticks that it should have in so long a time may have stopped.
constexpr uint64_t kWatchedTime = kNanosecondsPerSecond / 2;
constexpr uint64_t kFewestShare = 2;
/// In this time the clock of a running event moves.
constexpr useconds_t kLookMicroseconds = 1000;

}  // namespace

std::vector<uint32_t> onlineCpus() {
  // A list such as `0-3,8`. It is asked for at each drain: to open it each time would take most of the time.
  static const FileDescriptor file(open(kOnline, O_RDONLY | O_CLOEXEC));
  char text[kOnlineBytes] = {};
  readSome(file.get(), 0, text, sizeof text - 1);
  std::vector<uint32_t> cpus;
  for (char* at = text; *at >= '0' && *at <= '9';) {
    const unsigned long first = strtoul(at, &at, 10);
    const unsigned long last = *at == '-' ? strtoul(at + 1, &at, 10) : first;
    for (unsigned long cpu = first; cpu <= last && cpu < 65536; cpu++) cpus.push_back(static_cast<uint32_t>(cpu));
    if (*at == ',') at++;
  }
  return cpus;
}

int openEvent(const EventSource& source, uint32_t frequency, EventPlace place) {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = source.type;
  attributes.config = source.config;
  attributes.freq = 1;
  attributes.sample_freq = frequency;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
  attributes.disabled = 1;
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, place.thread, place.cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

EventReading readEvent(int event) {
  // As PERF_FORMAT_TOTAL_TIME_ENABLED has it.
  EventReading reading;
  return read(event, &reading, sizeof reading) == sizeof reading ? reading : EventReading{};
}

CpuEvents::~CpuEvents() {
  stopAll();
  if (rates_) munmap(rates_, ratesSize_);
}

void CpuEvents::open(const bpf_program* program, int rates, uint32_t possibleCpus, std::vector<EventSource> sources) {
  program_ = program;
  possibleCpus_ = possibleCpus;
  sources_ = std::move(sources);
  ratesSize_ = possibleCpus * sizeof(cpu_rate);
  void* mapped = mmap(nullptr, ratesSize_, PROT_READ | PROT_WRITE, MAP_SHARED, rates, 0);
  if (mapped == MAP_FAILED) throw Failure("the rates of the CPUs cannot be mapped", errno);
  rates_ = static_cast<cpu_rate*>(mapped);
}

/// In ns; 0: it varies. A clock's period is fixed (perf_swevent_init_hrtimer()); that of a PMU follows the clock
/// of the CPU.
uint64_t CpuEvents::period() const { return source().isClock ? kNanosecondsPerSecond / frequency_ : 0; }

/// How many samples a tick of a CPU that rests stands for. A PMU does not count on a halted CPU: nothing can rest.
uint32_t CpuEvents::restingWeight() const { return source().isClock ? std::max(1u, frequency_ / kRestingHz) : 1; }

CpuEvents::Event CpuEvents::startEvent(uint32_t cpu) {
  if (cpu >= possibleCpus_) throw Failure("there is no CPU " + std::to_string(cpu));
  Event event;
  event.cpu = cpu;
  event.fd = openEvent(source(), frequency_, {.thread = -1, .cpu = static_cast<int>(cpu)});
  if (event.fd < 0) throw Failure("the sampling event cannot be opened on CPU " + std::to_string(cpu), errno);
  rates_[cpu] = {period(), 1, rates_[cpu].lattice + 1};
  event.link = bpf_program__attach_perf_event(program_, event.fd);
  if (!event.link) {
    const int error = errno;
    close(event.fd);
    throw Failure("the BPF program cannot be attached on CPU " + std::to_string(cpu), error);
  }
  return event;
}

void CpuEvents::stopEvent(Event& event) {
  // Destroying the link closes the event too.
  bpf_link__destroy(event.link);
  event.link = nullptr;
  event.fd = -1;
}

void CpuEvents::stopAll() {
  for (Event& event : events_) stopEvent(event);
  events_.clear();
  startedAt_ = 0;
}

void CpuEvents::attach(uint32_t frequency) {
  const std::lock_guard lock(mutex_);
  const std::vector<uint32_t> cpus = onlineCpus();
  if (cpus.empty()) throw Failure("the list of online CPUs cannot be read", errno);
  frequency_ = std::max(frequency, 1u);
  // A PMU may be missing, refuse some CPUs or be taken by somebody else: the clock always ticks.
  for (;;) {
    try {
      for (const uint32_t cpu : cpus) events_.push_back(startEvent(cpu));
      startedAt_ = clockNanoseconds(CLOCK_MONOTONIC);
      return;
    } catch (const Failure&) {
      stopAll();
      if (sources_.size() == 1) throw;
      sources_.erase(sources_.begin());
    }
  }
}

void CpuEvents::detach() {
  const std::lock_guard lock(mutex_);
  stopAll();
}

/// Makes a CPU tick once for `weight` samples. False where it went offline meanwhile.
bool CpuEvents::setRate(const Event& event, uint32_t weight) {
  cpu_rate& rate = rates_[event.cpu];
  rate = {period() * weight, weight, rate.lattice + 1};
  // The kernel has made a period of cpu-clock's frequency when the event was opened.
  uint64_t value = source().isClock ? rate.period : frequency_;
  return ioctl(event.fd, PERF_EVENT_IOC_PERIOD, &value) == 0;
}

void CpuEvents::setFrequency(uint32_t frequency) {
  const std::lock_guard lock(mutex_);
  frequency_ = std::max(frequency, 1u);
  for (const Event& event : events_) {
    if (!setRate(event, 1))
      throw Failure("the sampling rate cannot be changed on CPU " + std::to_string(event.cpu), errno);
  }
}

void CpuEvents::wake(uint32_t cpu) {
  const std::lock_guard lock(mutex_);
  for (const Event& event : events_) {
    if (event.cpu == cpu && rates_[cpu].weight > 1) setRate(event, 1);
  }
}

void CpuEvents::keepAwake() {
  const std::lock_guard lock(mutex_);
  mayRest_ = false;
  for (const Event& event : events_) {
    if (rates_[event.cpu].weight > 1) setRate(event, 1);
  }
}

void CpuEvents::follow(const std::vector<cpu_totals>& totals) {
  const std::lock_guard lock(mutex_);
  if (startedAt_ == 0) return;
  const uint64_t now = clockNanoseconds(CLOCK_MONOTONIC);
  followOnline();
  restartStopped(totals, now);
  restIdle(totals, now);
}

void CpuEvents::followOnline() {
  const std::vector<uint32_t> online = onlineCpus();
  if (online.empty()) return;
  std::erase_if(events_, [&](Event& event) {
    if (std::find(online.begin(), online.end(), event.cpu) != online.end()) return false;
    stopEvent(event);
    return true;
  });
  for (const uint32_t cpu : online) {
    if (std::any_of(events_.begin(), events_.end(), [cpu](const Event& event) { return event.cpu == cpu; })) continue;
    try {
      events_.push_back(startEvent(cpu));
    } catch (const Failure&) {
      // It went offline again meanwhile: the next call sees it.
    }
  }
}

bool CpuEvents::tooFewTicks(Event& event, const std::vector<cpu_totals>& totals, uint64_t now) const {
  const uint64_t time = now - event.lookedAt, ticks = totals[event.cpu].ticks;
  if (time < kWatchedTime) return false;
  const uint64_t expected = source().isClock ? time / rates_[event.cpu].period : kFewestShare;
  const bool isKnown = event.lookedAt != 0;
  const bool tooFew = kFewestShare * (ticks - event.ticks) < expected;
  event.lookedAt = now;
  event.ticks = ticks;
  return isKnown && tooFew;
}

/// An event stays open when its CPU goes offline, and never ticks again when that comes back: its time stands still.
/// A CPU that was offline between two calls only is met so, and all but one of them after a suspend.
void CpuEvents::restartStopped(const std::vector<cpu_totals>& totals, uint64_t now) {
  std::vector<std::pair<Event*, uint64_t>> suspects;
  for (Event& event : events_) {
    if (tooFewTicks(event, totals, now)) suspects.emplace_back(&event, readEvent(event.fd).enabled);
  }
  if (suspects.empty()) return;
  usleep(kLookMicroseconds);
  for (const auto& [event, enabled] : suspects) {
    if (readEvent(event->fd).enabled != enabled) continue;
    const uint32_t cpu = event->cpu;
    stopEvent(*event);
    try {
      *event = startEvent(cpu);
    } catch (const Failure&) {
      event->cpu = possibleCpus_;
    }
  }
  std::erase_if(events_, [this](const Event& event) { return event.cpu == possibleCpus_; });
}

void CpuEvents::restIdle(const std::vector<cpu_totals>& totals, uint64_t now) {
  const uint32_t weight = restingWeight();
  if (!mayRest_ || weight <= 1 || now - startedAt_ < kIdleBeforeRest) return;
  for (const Event& event : events_) {
    const bool isIdle = now > totals[event.cpu].last_work + kIdleBeforeRest;
    if (isIdle && rates_[event.cpu].weight == 1) setRate(event, weight);
  }
}

}  // namespace polytop
