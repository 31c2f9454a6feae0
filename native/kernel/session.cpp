// SPDX-License-Identifier: Apache-2.0
#include "kernel/session.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstring>
#include <fstream>
#include <set>

namespace polytop {

namespace {

constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;

/// How many drains' samples a count map holds where all of them take little memory: a drain may come late.
constexpr double kLateDrains = 6;
/// Of all CPUs together: some 150 bytes each.
constexpr double kLateEntries = 8192;

/// libbpf explains failures on its log only: the last lines are kept for the error message.
thread_local std::string libbpfLog;

int keepLog(libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG) return 0;
  char line[1024];
  vsnprintf(line, sizeof line, format, arguments);
  libbpfLog += line;
  if (libbpfLog.size() > 8192) libbpfLog.erase(0, libbpfLog.size() - 8192);
  return 0;
}

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

/// The verifier gives up with EAGAIN while a signal waits, and a sampling profiler of Node sends many.
int loadUninterrupted(bpf_object* object) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = bpf_object__load(object);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

}  // namespace

Session::~Session() {
  detach();
  for (int fd : countMaps_) close(fd);
  for (const Mapping& mapping : mappings_) munmap(mapping.memory, mapping.size);
  bpf_object__close(object_);
}

bool Session::load(const SessionOptions& options, Failure& failure) {
  libbpf_set_print(keepLog);
  libbpfLog.clear();
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) {
    failure = {"the number of CPUs cannot be read", -cpus};
    return false;
  }
  possibleCpus_ = static_cast<uint32_t>(cpus);
  object_ = bpf_object__open_file(options.objectPath.c_str(), nullptr);
  if (!object_) {
    failure = {"the BPF object cannot be opened: " + options.objectPath, errno};
    return false;
  }
  program_ = bpf_object__find_program_by_name(object_, "sample");
  bpf_map* counts = bpf_object__find_map_by_name(object_, "counts");
  bpf_map* constants = bpf_object__find_map_by_name(object_, ".rodata");
  bpf_map* records = bpf_object__find_map_by_name(object_, "records");
  size_t size = 0;
  auto* rodata = constants
                     ? const_cast<uint32_t*>(static_cast<const uint32_t*>(bpf_map__initial_value(constants, &size)))
                     : nullptr;
  if (!program_ || !counts || !records || !rodata) {
    failure = {"the BPF object lacks a program or a map: " + options.objectPath, 0};
    return false;
  }
  const btf* types = bpf_object__btf(object_);
  const int section = btf__find_by_name_kind(types, ".rodata", BTF_KIND_DATASEC);
  const btf_type* rodataType = btf__type_by_id(types, section);
  for (int i = 0; rodataType && i < btf_vlen(rodataType); i++) {
    const btf_var_secinfo& variable = btf_var_secinfos(rodataType)[i];
    const char* name = btf__name_by_offset(types, btf__type_by_id(types, variable.type)->name_off);
    if (strcmp(name, "cpu_count") == 0) rodata[variable.offset / 4] = possibleCpus_;
    if (strcmp(name, "ring_wakeup_bytes") == 0) rodata[variable.offset / 4] = bpf_map__max_entries(records) / 4;
  }
  bpf_map__set_max_entries(counts, 2 * possibleCpus_);
  bpf_map__set_max_entries(bpf_object__find_map_by_name(object_, "known_rules"), possibleCpus_);
  const int error = loadUninterrupted(object_);
  if (error) {
    failure = {"the kernel refused the BPF program\n" + libbpfLog, -error};
    return false;
  }
  return findVariables(failure) && createCountMaps(options, failure) && setTargets(options.targets, failure);
}

bool Session::createCountMaps(const SessionOptions& options, Failure& failure) {
  // Each sample may be a row of its own; half as much again for drains that come late together. Where that is
  // little there is room for one that comes seconds late: a busy machine that is met for the first time.
  const double perDrain = options.frequency * std::max(1.0, options.drainSeconds);
  const double perEpoch = std::max(1.5 * perDrain, std::min(kLateDrains * perDrain, kLateEntries / possibleCpus_));
  const auto entries = static_cast<uint32_t>(std::clamp(perEpoch, 256.0, 65536.0));
  const int outer = mapFd("counts");
  for (uint32_t slot = 0; slot < 2 * possibleCpus_; slot++) {
    const int fd =
        bpf_map_create(BPF_MAP_TYPE_HASH, "count_map", sizeof(count_key), sizeof(count_value), entries, nullptr);
    if (fd < 0) {
      failure = {"a count map cannot be made", errno};
      return false;
    }
    countMaps_.push_back(fd);
    if (bpf_map_update_elem(outer, &slot, &fd, BPF_ANY) != 0) {
      failure = {"a count map cannot be set", errno};
      return false;
    }
  }
  return true;
}

bool Session::findVariables(Failure& failure) {
  const btf* types = bpf_object__btf(object_);
  for (const char* name : {".bss", ".data"}) {
    bpf_map* map = bpf_object__find_map_by_name(object_, name);
    size_t size = 0;
    const int section = btf__find_by_name_kind(types, name, BTF_KIND_DATASEC);
    if (!map || !bpf_map__initial_value(map, &size) || section < 0) continue;
    void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
    if (mapped == MAP_FAILED) continue;
    mappings_.push_back({mapped, size});
    char* memory = static_cast<char*>(mapped);
    const btf_type* type = btf__type_by_id(types, section);
    for (int i = 0; i < btf_vlen(type); i++) {
      const btf_var_secinfo& variable = btf_var_secinfos(type)[i];
      const std::string id = btf__name_by_offset(types, btf__type_by_id(types, variable.type)->name_off);
      char* at = memory + variable.offset;
      if (id == "epoch") variables_.epoch = reinterpret_cast<volatile uint32_t*>(at);
      if (id == "target_count") variables_.targetCount = reinterpret_cast<volatile uint32_t*>(at);
      if (id == "generation") variables_.generation = reinterpret_cast<volatile uint64_t*>(at);
      if (id == "period") variables_.period = reinterpret_cast<volatile uint64_t*>(at);
      if (id == "has_perl_splits") variables_.hasPerlSplits = reinterpret_cast<volatile uint32_t*>(at);
      if (id == "files_version") variables_.filesVersion = reinterpret_cast<volatile uint32_t*>(at);
    }
  }
  if (variables_.epoch && variables_.targetCount && variables_.generation && variables_.filesVersion &&
      variables_.period && variables_.hasPerlSplits)
    return true;
  failure = {"the BPF object lacks a variable", 0};
  return false;
}

int Session::openEvent(uint32_t cpu) const {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = hardware_ ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  if (hardware_) attributes.config = PERF_COUNT_HW_CPU_CYCLES;
  attributes.freq = 1;
  attributes.sample_freq = frequency_;
  attributes.disabled = 1;
  attributes.exclude_idle = 1;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, -1, static_cast<int>(cpu), -1, PERF_FLAG_FD_CLOEXEC));
}

bool Session::startEvent(uint32_t cpu, Failure& failure) {
  Event event;
  event.cpu = cpu;
  event.fd = openEvent(cpu);
  if (event.fd < 0) {
    failure = {"the sampling event cannot be opened on CPU " + std::to_string(cpu), errno};
    return false;
  }
  event.link = bpf_program__attach_perf_event(program_, event.fd);
  if (!event.link) {
    failure = {"the BPF program cannot be attached on CPU " + std::to_string(cpu), errno};
    close(event.fd);
    return false;
  }
  events_.push_back(event);
  return true;
}

void Session::stopEvent(Event& event) {
  // Destroying the link closes the event too.
  bpf_link__destroy(event.link);
  event.link = nullptr;
  event.fd = -1;
}

/// In ns; 0: it varies. cpu-clock's period is fixed (perf_swevent_init_hrtimer()); that of a PMU follows the
/// clock of the CPU.
uint64_t Session::fixedPeriod() const { return hardware_ ? 0 : kNanosecondsPerSecond / frequency_; }

bool Session::attach(uint32_t frequency, Failure& failure) {
  const std::vector<uint32_t> cpus = readCpuList("/sys/devices/system/cpu/online");
  if (cpus.empty()) {
    failure = {"the list of online CPUs cannot be read", errno};
    return false;
  }
  frequency_ = frequency;
  // A PMU may be missing, refuse some CPUs or be taken by somebody else: the clock always ticks.
  while (!startEvents(cpus, failure)) {
    detach();
    if (!hardware_) return false;
    hardware_ = false;
  }
  return true;
}

bool Session::startEvents(const std::vector<uint32_t>& cpus, Failure& failure) {
  *variables_.period = fixedPeriod();
  return std::all_of(cpus.begin(), cpus.end(), [&](uint32_t cpu) { return startEvent(cpu, failure); });
}

bool Session::trustEvents() {
  const bool counts = std::any_of(events_.begin(), events_.end(), [](const Event& event) {
    uint64_t count = 0;
    return read(event.fd, &count, sizeof count) == sizeof count && count > 0;
  });
  if (counts || !hardware_) return true;
  detach();
  hardware_ = false;
  return false;
}

void Session::detach() {
  for (Event& event : events_) stopEvent(event);
  events_.clear();
}

bool Session::setFrequency(uint32_t frequency, Failure& failure) {
  const uint64_t periodBefore = fixedPeriod();
  frequency_ = std::max(frequency, 1u);
  // The longer of both, so that no gap between an old and a new tick counts as skipped ones; followCpus()
  // sets the new one.
  *variables_.period = std::max(periodBefore, fixedPeriod());
  // The kernel has made a period of cpu-clock's frequency when the event was opened.
  uint64_t value = hardware_ ? frequency_ : fixedPeriod();
  for (const Event& event : events_) {
    if (ioctl(event.fd, PERF_EVENT_IOC_PERIOD, &value) == 0) continue;
    failure = {"the sampling rate cannot be changed on CPU " + std::to_string(event.cpu), errno};
    return false;
  }
  return true;
}

size_t Session::followCpus() {
  *variables_.period = fixedPeriod();
  const std::vector<uint32_t> cpus = readCpuList("/sys/devices/system/cpu/online");
  const std::set<uint32_t> online(cpus.begin(), cpus.end());
  if (online.empty()) return events_.size();
  for (size_t i = events_.size(); i-- > 0;) {
    if (online.contains(events_[i].cpu)) continue;
    stopEvent(events_[i]);
    events_.erase(events_.begin() + static_cast<ptrdiff_t>(i));
  }
  for (uint32_t cpu : online) {
    const bool running =
        std::any_of(events_.begin(), events_.end(), [cpu](const Event& event) { return event.cpu == cpu; });
    Failure ignored;  // a CPU that went offline again meanwhile: the next call sees it
    if (!running) startEvent(cpu, ignored);
  }
  return events_.size();
}

bool Session::setTargets(const std::vector<uint32_t>& targets, Failure& failure) {
  const int map = mapFd("targets");
  const uint8_t one = 1;
  // New ones first, so that no moment is left in which everything or nothing is wanted.
  for (uint32_t tgid : targets) {
    if (bpf_map_update_elem(map, &tgid, &one, BPF_ANY) != 0) {
      failure = {"too many processes to filter by", errno};
      return false;
    }
  }
  *variables_.targetCount = static_cast<uint32_t>(targets.size());
  for (uint32_t tgid : targets_) {
    if (std::find(targets.begin(), targets.end(), tgid) == targets.end()) bpf_map_delete_elem(map, &tgid);
  }
  targets_ = targets;
  return true;
}

bool Session::isTarget(uint32_t tgid) const {
  uint8_t wanted = 0;
  return *variables_.targetCount == 0 || bpf_map_lookup_elem(mapFd("targets"), &tgid, &wanted) == 0;
}

int Session::mapFd(const char* name) const { return bpf_object__find_map_fd_by_name(object_, name); }

int Session::programFd(const char* name) const {
  return bpf_program__fd(bpf_object__find_program_by_name(object_, name));
}

int Session::countMapFd(uint32_t epoch, uint32_t cpu) const { return countMaps_[epoch * possibleCpus_ + cpu]; }

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
