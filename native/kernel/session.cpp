// SPDX-License-Identifier: Apache-2.0
#include "kernel/session.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <type_traits>
#include <utility>

#include "kernel/object.h"
#include "util/bytes.h"

namespace polytop {

namespace {

/// How many drains' samples a count map holds where all of them take little memory: a drain may come late.
constexpr double kLateDrains = 6;
/// How many entries the count maps of all CPUs hold together for late drains: some 150 bytes each.
constexpr double kLateEntries = 8192;

/// How many frames the kernel gives of its own stack at most: a setting that may lie below what is asked for. Reads it
/// from the open file of the setting.
uint32_t readKernelStackLimit(int setting) {
  char text[16] = {};
  const size_t size = setting < 0 ? 0 : readSome(setting, 0, text, sizeof text - 1);
  uint32_t limit = 0;
  return std::from_chars(text, text + size, limit).ec == std::errc() ? limit : MAX_KERNEL_FRAMES;
}

uint32_t countPossibleCpus() {
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) throw Failure("the number of CPUs cannot be read", -cpus);
  return static_cast<uint32_t>(cpus);
}

void prepare(bpf_object* object, const std::string& path) {
  bpf_map* counts = bpf_object__find_map_by_name(object, "counts");
  bpf_map* rates = bpf_object__find_map_by_name(object, "rates");
  if (!bpf_object__find_program_by_name(object, "sample") || !counts || !rates)
    throw Failure("the BPF object lacks a program or a map: " + path);
  leaveOut(object, "event_");
  const uint32_t cpus = countPossibleCpus();
  setConstants(object, cpus);
  bpf_map__set_max_entries(counts, 2 * cpus);
  bpf_map__set_max_entries(rates, cpus);
  loadObject(object);
}

}  // namespace

bpf_object* loadSamplingObject(const std::string& path) {
  bpf_object* object = openObject(path);
  try {
    prepare(object, path);
  } catch (...) {
    bpf_object__close(object);
    throw;
  }
  return object;
}

Session::~Session() {
  events_.detach();
  for (bpf_link* link : follows_) bpf_link__destroy(link);
  for (const Mapping& mapping : mappings_) munmap(mapping.memory, mapping.size);
  bpf_object__close(object_);
}

void Session::start(bpf_object* object, const SessionOptions& options) {
  object_ = object;
  if (options.sources.empty()) throw Failure("there is no event to sample", EINVAL);
  possibleCpus_ = countPossibleCpus();
  findVariables();
  const bpf_program* program = bpf_object__find_program_by_name(object_, "sample");
  events_.open(program, mapFd("rates"), possibleCpus_, options.sources);
  setTargets(options.targets);
}

void Session::createCountMaps(const SessionOptions& options) {
  // Each sample may be a row of its own; half as much again for drains that come late together. Where that is
  // little there is room for one that comes seconds late: a busy machine that is met for the first time.
  const double perDrain = (1 + options.events) * options.frequency * std::max(1.0, options.drainSeconds);
  const double perEpoch = std::max(1.5 * perDrain, std::min(kLateDrains * perDrain, kLateEntries / possibleCpus_));
  const auto entries = static_cast<uint32_t>(std::clamp(perEpoch, 256.0, 65536.0));
  std::vector<uint32_t> slots;
  std::vector<int> maps;
  for (uint32_t slot = 0; slot < 2 * possibleCpus_; slot++) {
    FileDescriptor map(
        bpf_map_create(BPF_MAP_TYPE_HASH, "count_map", sizeof(count_key), sizeof(count_value), entries, nullptr));
    if (!map.valid()) throw Failure("a count map cannot be made", errno);
    slots.push_back(slot);
    maps.push_back(map.get());
    countMaps_.push_back(std::move(map));
  }
  setCountMaps(slots, maps);
}

void Session::setCountMaps(const std::vector<uint32_t>& slots, const std::vector<int>& maps) {
  const int outer = mapFd("counts");
  auto count = static_cast<uint32_t>(slots.size());
  // The kernel waits some 10 ms for running programs after each update, but once for all of these (from 6.0 on).
  if (bpf_map_update_batch(outer, slots.data(), maps.data(), &count, nullptr) == 0) return;
  for (size_t i = 0; i < slots.size(); i++) {
    if (bpf_map_update_elem(outer, &slots[i], &maps[i], BPF_ANY) != 0)
      throw Failure("a count map cannot be set", errno);
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
  bind("followed_parent", variables_.followedParent);
  bind("generation", variables_.generation);
  bind("files_version", variables_.filesVersion);
  bind("dotnet_roles_version", variables_.dotnetRolesVersion);
  bind("has_perl_splits", variables_.hasPerlSplits);
  bind("kernel_stack_limit", variables_.kernelStackLimit);
  stackSetting_ = FileDescriptor(open("/proc/sys/kernel/perf_event_max_stack", O_RDONLY | O_CLOEXEC));
  followSettings();
}

void Session::followSettings() { *variables_.kernelStackLimit = readKernelStackLimit(stackSetting_.get()); }

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

void Session::followChildrenOf(uint32_t tid) {
  // No process has this pid: only what is followed is wanted.
  setTargets({0});
  *variables_.followedParent = tid;
  for (const char* name : {"follow_end", "follow_fork"}) {
    bpf_link* link = bpf_program__attach(bpf_object__find_program_by_name(object_, name));
    if (!link) throw Failure("the processes of a command cannot be followed", errno);
    follows_.push_back(link);
  }
  // A CPU that rests would meet a short command too late.
  events_.keepAwake();
}

bool Session::isTarget(uint32_t tgid) const {
  uint8_t wanted = 0;
  return !isNarrowed() || bpf_map_lookup_elem(mapFd("targets"), &tgid, &wanted) == 0;
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

void Session::announceDotnetRoles() { *variables_.dotnetRolesVersion = *variables_.dotnetRolesVersion + 1; }

void Session::forgetMappings() { *variables_.filesVersion = *variables_.filesVersion + 1; }

}  // namespace polytop
