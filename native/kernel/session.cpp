// SPDX-License-Identifier: Apache-2.0
#include "kernel/session.h"

#include <bpf/bpf.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

#include "kernel/object.h"

namespace polytop {

namespace {

constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;

/// How many drains' samples a count map holds where all of them take little memory: a drain may come late.
constexpr double kLateDrains = 6;
/// How many entries the count maps of all CPUs hold together for late drains: some 150 bytes each.
constexpr double kLateEntries = 8192;

/// Parses a CPU list of sysfs, e.g. `0-3,8`.
std::vector<uint32_t> readCpuList(const char* path) {
  std::ifstream file(path);
  std::vector<uint32_t> cpus;
  unsigned first = 0, last = 0;
  while (file >> first) {
    last = first;
    if (file.peek() == '-') file.ignore() && file >> last;
    for (unsigned cpu = first; cpu <= last && cpu < 65536; cpu++) cpus.push_back(cpu);
    if (file.peek() == ',') file.ignore();
  }
  return cpus;
}

}  // namespace

Session::~Session() {
  detach();
  for (const Mapping& mapping : mappings_) munmap(mapping.memory, mapping.size);
  bpf_object__close(object_);
}

void Session::load(const SessionOptions& options) {
  if (options.sources.empty()) throw Failure("there is no event to sample", EINVAL);
  sources_ = options.sources;
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) throw Failure("the number of CPUs cannot be read", -cpus);
  possibleCpus_ = static_cast<uint32_t>(cpus);
  object_ = openObject(options.objectPath);
  program_ = bpf_object__find_program_by_name(object_, "sample");
  bpf_map* counts = bpf_object__find_map_by_name(object_, "counts");
  if (!program_ || !counts) throw Failure("the BPF object lacks a program or a map: " + options.objectPath);
  setConstants(object_, possibleCpus_);
  bpf_map__set_max_entries(counts, 2 * possibleCpus_);
  loadObject(object_);
  findVariables();
  createCountMaps(options);
  setTargets(options.targets);
}

void Session::createCountMaps(const SessionOptions& options) {
  // Each sample may be a row of its own; half as much again for drains that come late together. Where that is
  // little there is room for one that comes seconds late: a busy machine that is met for the first time.
  const double perDrain = options.frequency * std::max(1.0, options.drainSeconds);
  const double perEpoch = std::max(1.5 * perDrain, std::min(kLateDrains * perDrain, kLateEntries / possibleCpus_));
  const auto entries = static_cast<uint32_t>(std::clamp(perEpoch, 256.0, 65536.0));
  const int outer = mapFd("counts");
  for (uint32_t slot = 0; slot < 2 * possibleCpus_; slot++) {
    FileDescriptor map(
        bpf_map_create(BPF_MAP_TYPE_HASH, "count_map", sizeof(count_key), sizeof(count_value), entries, nullptr));
    const int fd = map.get();
    if (!map.valid()) throw Failure("a count map cannot be made", errno);
    countMaps_.push_back(std::move(map));
    if (bpf_map_update_elem(outer, &slot, &fd, BPF_ANY) != 0) throw Failure("a count map cannot be set", errno);
  }
}

void Session::findVariables() {
  std::map<std::string, char*> places;
  for (const char* section : {".bss", ".data"}) {
    bpf_map* map = bpf_object__find_map_by_name(object_, section);
    size_t size = 0;
    if (!map || !bpf_map__initial_value(map, &size)) continue;
    void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
    if (mapped == MAP_FAILED) continue;
    mappings_.push_back({mapped, size});
    eachVariable(object_, section, [&](const char* name, uint32_t offset, uint32_t) {
      places[name] = static_cast<char*>(mapped) + offset;
    });
  }
  const auto bind = [&](const char* name, auto& variable) {
    const auto place = places.find(name);
    if (place == places.end()) throw Failure(std::string("the BPF object lacks the variable ") + name);
    variable = reinterpret_cast<std::remove_reference_t<decltype(variable)>>(place->second);
  };
  bind("epoch", variables_.epoch);
  bind("target_count", variables_.targetCount);
  bind("generation", variables_.generation);
  bind("files_version", variables_.filesVersion);
  bind("period", variables_.period);
  bind("has_perl_splits", variables_.hasPerlSplits);
}

int Session::openEvent(uint32_t cpu) const {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = source().type;
  attributes.config = source().config;
  attributes.freq = 1;
  attributes.sample_freq = frequency_;
  attributes.disabled = 1;
  attributes.exclude_idle = 1;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, -1, static_cast<int>(cpu), -1, PERF_FLAG_FD_CLOEXEC));
}

void Session::startEvent(uint32_t cpu) {
  Event event;
  event.cpu = cpu;
  event.fd = openEvent(cpu);
  if (event.fd < 0) throw Failure("the sampling event cannot be opened on CPU " + std::to_string(cpu), errno);
  event.link = bpf_program__attach_perf_event(program_, event.fd);
  if (!event.link) {
    const int error = errno;
    close(event.fd);
    throw Failure("the BPF program cannot be attached on CPU " + std::to_string(cpu), error);
  }
  events_.push_back(event);
}

void Session::stopEvent(Event& event) {
  // Destroying the link closes the event too.
  bpf_link__destroy(event.link);
  event.link = nullptr;
  event.fd = -1;
}

/// In ns; 0: it varies. A clock's period is fixed (perf_swevent_init_hrtimer()); that of a PMU follows the clock
/// of the CPU.
uint64_t Session::fixedPeriod() const { return source().isClock ? kNanosecondsPerSecond / frequency_ : 0; }

void Session::attach(uint32_t frequency) {
  const std::vector<uint32_t> cpus = readCpuList("/sys/devices/system/cpu/online");
  if (cpus.empty()) throw Failure("the list of online CPUs cannot be read", errno);
  frequency_ = frequency;
  // A PMU may be missing, refuse some CPUs or be taken by somebody else: the clock always ticks.
  for (;;) {
    *variables_.period = fixedPeriod();
    try {
      for (const uint32_t cpu : cpus) startEvent(cpu);
      onlineCpus_ = static_cast<uint32_t>(cpus.size());
      isAttached_ = true;
      return;
    } catch (const Failure&) {
      detach();
      if (sources_.size() == 1) throw;
      sources_.erase(sources_.begin());
    }
  }
}

bool Session::trustEvents() {
  const bool counts = std::any_of(events_.begin(), events_.end(), [](const Event& event) {
    uint64_t count = 0;
    return read(event.fd, &count, sizeof count) == sizeof count && count > 0;
  });
  if (counts || sources_.size() == 1) return true;
  detach();
  sources_.erase(sources_.begin());
  return false;
}

void Session::detach() {
  isAttached_ = false;
  for (Event& event : events_) stopEvent(event);
  events_.clear();
}

void Session::setFrequency(uint32_t frequency) {
  const uint64_t periodBefore = fixedPeriod();
  frequency_ = std::max(frequency, 1u);
  // The longer of both, so that no gap between an old and a new tick counts as skipped ones; followCpus()
  // sets the new one.
  *variables_.period = std::max(periodBefore, fixedPeriod());
  // The kernel has made a period of cpu-clock's frequency when the event was opened.
  uint64_t value = source().isClock ? fixedPeriod() : frequency_;
  for (const Event& event : events_) {
    if (ioctl(event.fd, PERF_EVENT_IOC_PERIOD, &value) != 0)
      throw Failure("the sampling rate cannot be changed on CPU " + std::to_string(event.cpu), errno);
  }
}

size_t Session::followCpus() {
  *variables_.period = fixedPeriod();
  const std::vector<uint32_t> cpus = readCpuList("/sys/devices/system/cpu/online");
  const std::set<uint32_t> online(cpus.begin(), cpus.end());
  if (!online.empty()) onlineCpus_ = static_cast<uint32_t>(online.size());
  if (online.empty() || !isAttached_) return events_.size();
  for (size_t i = events_.size(); i-- > 0;) {
    if (online.contains(events_[i].cpu)) continue;
    stopEvent(events_[i]);
    events_.erase(events_.begin() + static_cast<ptrdiff_t>(i));
  }
  for (uint32_t cpu : online) {
    const bool running =
        std::any_of(events_.begin(), events_.end(), [cpu](const Event& event) { return event.cpu == cpu; });
    try {
      if (!running) startEvent(cpu);
    } catch (const Failure&) {
      // It went offline again meanwhile: the next call sees it.
    }
  }
  return events_.size();
}

void Session::setTargets(const std::vector<uint32_t>& targets) {
  const int map = mapFd("targets");
  const uint8_t one = 1;
  // New ones first, so that no moment is left in which everything or nothing is wanted.
  for (uint32_t tgid : targets) {
    if (bpf_map_update_elem(map, &tgid, &one, BPF_ANY) != 0) throw Failure("too many processes to filter by", errno);
  }
  *variables_.targetCount = static_cast<uint32_t>(targets.size());
  for (uint32_t tgid : targets_) {
    if (std::find(targets.begin(), targets.end(), tgid) == targets.end()) bpf_map_delete_elem(map, &tgid);
  }
  targets_ = targets;
}

bool Session::isTarget(uint32_t tgid) const {
  uint8_t wanted = 0;
  return *variables_.targetCount == 0 || bpf_map_lookup_elem(mapFd("targets"), &tgid, &wanted) == 0;
}

int Session::mapFd(const char* name) const { return bpf_object__find_map_fd_by_name(object_, name); }

int Session::programFd(const char* name) const {
  return bpf_program__fd(bpf_object__find_program_by_name(object_, name));
}

int Session::countMapFd(uint32_t epoch, uint32_t cpu) const { return countMaps_[epoch * possibleCpus_ + cpu].get(); }

uint32_t Session::switchEpoch() {
  const uint32_t old = *variables_.epoch & 1;
  *variables_.epoch = old ^ 1;
  waitForRuns();
  return old;
}

void Session::waitForRuns() {
  // A BPF program runs inside of an RCU read section: after a grace period none holds what it held before.
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0) usleep(2000);
}

void Session::renewStacks() { *variables_.generation = *variables_.generation + 1; }

void Session::announcePerlSplits() { *variables_.hasPerlSplits = 1; }

void Session::forgetMappings() { *variables_.filesVersion = *variables_.filesVersion + 1; }

}  // namespace polytop
