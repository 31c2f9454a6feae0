// SPDX-License-Identifier: Apache-2.0
#include "kernel/session.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstring>
#include <fstream>
#include <map>
#include <type_traits>
#include <utility>

namespace polytop {

namespace {

/// How many drains' samples a count map holds where all of them take little memory: a drain may come late.
constexpr double kLateDrains = 6;
/// How many entries the count maps of all CPUs hold together for late drains: some 150 bytes each.
constexpr double kLateEntries = 8192;

/// libbpf explains failures on its log only: the last lines are kept for the error message.
thread_local std::string libbpfLog;

int keepLog(libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG) return 0;
  // The log of the verifier is one message, and says why at its end.
  va_list counted;
  va_copy(counted, arguments);
  std::string text(std::max(vsnprintf(nullptr, 0, format, counted), 0) + 1, 0);
  va_end(counted);
  vsnprintf(text.data(), text.size(), format, arguments);
  text.pop_back();
  libbpfLog += text;
  if (libbpfLog.size() > 8192) libbpfLog.erase(0, libbpfLog.size() - 8192);
  return 0;
}

/// How many frames the kernel gives of its own stack at most: a setting that may lie below what is asked for.
uint32_t readKernelStackLimit() {
  uint32_t limit = 0;
  return std::ifstream("/proc/sys/kernel/perf_event_max_stack") >> limit ? limit : MAX_KERNEL_FRAMES;
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

/// Calls `found` with the name and the offset of each variable in a data section of the object.
template <typename Found>
void eachVariable(const bpf_object* object, const char* section, Found found) {
  const btf* types = bpf_object__btf(object);
  const btf_type* type = btf__type_by_id(types, btf__find_by_name_kind(types, section, BTF_KIND_DATASEC));
  for (int i = 0; type && i < btf_vlen(type); i++) {
    const btf_var_secinfo& variable = btf_var_secinfos(type)[i];
    found(btf__name_by_offset(types, btf__type_by_id(types, variable.type)->name_off), variable.offset);
  }
}

}  // namespace

Session::~Session() {
  events_.detach();
  for (const Mapping& mapping : mappings_) munmap(mapping.memory, mapping.size);
  bpf_object__close(object_);
}

void Session::load(const SessionOptions& options) {
  libbpf_set_print(keepLog);
  libbpfLog.clear();
  if (options.sources.empty()) throw Failure("there is no event to sample", EINVAL);
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) throw Failure("the number of CPUs cannot be read", -cpus);
  possibleCpus_ = static_cast<uint32_t>(cpus);
  object_ = bpf_object__open_file(options.objectPath.c_str(), nullptr);
  if (!object_) throw Failure("the BPF object cannot be opened: " + options.objectPath, errno);
  const bpf_program* program = bpf_object__find_program_by_name(object_, "sample");
  bpf_map* counts = bpf_object__find_map_by_name(object_, "counts");
  bpf_map* constants = bpf_object__find_map_by_name(object_, ".rodata");
  bpf_map* records = bpf_object__find_map_by_name(object_, "records");
  size_t size = 0;
  auto* rodata = constants
                     ? const_cast<uint32_t*>(static_cast<const uint32_t*>(bpf_map__initial_value(constants, &size)))
                     : nullptr;
  if (!program || !counts || !records || !rodata)
    throw Failure("the BPF object lacks a program or a map: " + options.objectPath);
  eachVariable(object_, ".rodata", [&](const char* name, uint32_t offset) {
    if (strcmp(name, "cpu_count") == 0) rodata[offset / 4] = possibleCpus_;
    if (strcmp(name, "ring_wakeup_bytes") == 0) rodata[offset / 4] = bpf_map__max_entries(records) / 4;
  });
  bpf_map__set_max_entries(counts, 2 * possibleCpus_);
  bpf_map__set_max_entries(bpf_object__find_map_by_name(object_, "rates"), possibleCpus_);
  bpf_map__set_max_entries(bpf_object__find_map_by_name(object_, "known_rules"), possibleCpus_);
  const int error = loadUninterrupted(object_);
  if (error) throw Failure("the kernel refused the BPF program\n" + libbpfLog, -error);
  findVariables();
  events_.open(program, mapFd("rates"), possibleCpus_, options.sources);
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
    eachVariable(object_, section,
                 [&](const char* name, uint32_t offset) { places[name] = static_cast<char*>(mapped) + offset; });
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
  bind("has_perl_splits", variables_.hasPerlSplits);
  bind("kernel_stack_limit", variables_.kernelStackLimit);
  followSettings();
}

void Session::followSettings() { *variables_.kernelStackLimit = readKernelStackLimit(); }

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
