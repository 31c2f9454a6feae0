// SPDX-License-Identifier: Apache-2.0
#include "kernel/object.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

namespace polytop {

namespace {

/// What a walk remembers beside its scratch, and constants.
constexpr std::array<std::string_view, 3> kOwnMaps = {"known_rules", "mapping_caches", ".rodata"};

/// Sections whose variables both objects see: they must lie at the same places.
constexpr std::array<const char*, 2> kSharedSections = {".bss", ".data"};

/// The name of a map; that of a data section is told without the object's name in front of it.
std::string_view nameOf(const bpf_map* map) {
  const std::string_view name = bpf_map__name(map);
  const size_t dot = name.find('.');
  return dot == std::string_view::npos ? name : name.substr(dot);
}

/// Whether each object has a map of this name for itself. Arrays that each CPU has for itself are scratch and sums of a
/// walk, and a walk of one object interrupts a walk of another on the same CPU.
bool isOwn(const bpf_map* map) {
  return bpf_map__type(map) == BPF_MAP_TYPE_PERCPU_ARRAY || std::ranges::find(kOwnMaps, nameOf(map)) != kOwnMaps.end();
}

struct Variable {
  std::string name;
  uint32_t offset;
  uint32_t size;
  bool operator==(const Variable&) const = default;
};

std::vector<Variable> variablesOf(const bpf_object* object, const char* section) {
  std::vector<Variable> variables;
  eachVariable(object, section,
               [&](const char* name, uint32_t offset, uint32_t size) { variables.push_back({name, offset, size}); });
  return variables;
}

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

/// The last line of a text.
std::string_view lastLine(std::string_view text) {
  const size_t end = text.rfind('\n');
  return end == std::string_view::npos ? text : text.substr(end + 1);
}

/// What libbpf's log says, in one line: which program the kernel refuses, and the verifier's last words on it, which
/// stand before its sums ("processed … insns").
std::string refusalIn(std::string_view log) {
  constexpr std::string_view kProgram = "prog '";
  const size_t program = log.rfind(kProgram);
  if (program == std::string_view::npos) return "the kernel refused the BPF program";
  const std::string_view said = log.substr(program + kProgram.size());
  const size_t quote = said.find('\'');
  const size_t sums = log.rfind("\nprocessed ");
  const std::string_view why =
      sums == std::string_view::npos ? said.substr(std::min(quote + 3, said.size())) : lastLine(log.substr(0, sums));
  return "the kernel refused the BPF program " + std::string(said.substr(0, quote)) + " (" +
         std::string(why.substr(0, why.find('\n'))) + ")";
}

}  // namespace

bpf_object* openObject(const std::string& path) {
  libbpf_set_print(keepLog);
  libbpfLog.clear();
  bpf_object* object = bpf_object__open_file(path.c_str(), nullptr);
  if (!object) throw Failure("the BPF object cannot be opened: " + path, errno);
  return object;
}

void setConstants(bpf_object* object, uint32_t possibleCpus) {
  bpf_map* records = bpf_object__find_map_by_name(object, "records");
  bpf_map* knownRules = bpf_object__find_map_by_name(object, "known_rules");
  if (!records || !knownRules) throw Failure("the BPF object lacks a map");
  setConstant(object, "cpu_count", possibleCpus);
  setConstant(object, "ring_wakeup_bytes", bpf_map__max_entries(records) / 4);
  bpf_map__set_max_entries(knownRules, possibleCpus);
}

void setConstant(bpf_object* object, const char* name, uint32_t value) {
  bpf_map* constants = bpf_object__find_map_by_name(object, ".rodata");
  size_t size = 0;
  auto* rodata = constants
                     ? const_cast<uint32_t*>(static_cast<const uint32_t*>(bpf_map__initial_value(constants, &size)))
                     : nullptr;
  if (!rodata) throw Failure("the BPF object lacks a map");
  eachVariable(object, ".rodata", [&](const char* found, uint32_t offset, uint32_t) {
    if (strcmp(found, name) == 0) rodata[offset / 4] = value;
  });
}

void shareMaps(bpf_object* object, const bpf_object* with) {
  for (const char* section : kSharedSections) {
    if (variablesOf(object, section) != variablesOf(with, section))
      throw Failure(std::string("the BPF objects are of different builds: ") + section);
  }
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) {
    if (isOwn(map)) continue;
    bpf_map* other = nullptr;
    bpf_object__for_each_map(other, with) {
      if (nameOf(other) != nameOf(map) || bpf_map__fd(other) < 0) continue;
      const int error = bpf_map__reuse_fd(map, bpf_map__fd(other));
      if (error) throw Failure("a map cannot be shared: " + std::string(nameOf(map)), -error);
    }
  }
}

void leaveOut(bpf_object* object, std::string_view prefix) {
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    if (std::string_view(bpf_program__name(program)).starts_with(prefix)) bpf_program__set_autoload(program, false);
  }
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) {
    if (nameOf(map).starts_with(prefix)) bpf_map__set_autocreate(map, false);
  }
}

cpu_totals sumOf(std::span<const cpu_totals> cpus) {
  cpu_totals sums = {};
  for (const cpu_totals& cpu : cpus) {
    for (uint32_t id = 0; id < COUNTERS; id++) sums.counters[id] += cpu.counters[id];
    sums.nanoseconds += cpu.nanoseconds;
    sums.ticks += cpu.ticks;
  }
  return sums;
}

void sumTotals(const bpf_object* object, uint32_t cpus, cpu_totals& sums) {
  std::vector<cpu_totals> totals(cpus);
  const uint32_t zero = 0;
  if (bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(object, "totals"), &zero, totals.data()) != 0) return;
  sums = sumOf(totals);
}

void loadObject(bpf_object* object) {
  // The verifier gives up with EAGAIN while a signal waits, and a sampling profiler of Node sends many.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = bpf_object__load(object);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error) throw Failure(refusalIn(libbpfLog) + "\n" + libbpfLog, -error);
}

}  // namespace polytop
