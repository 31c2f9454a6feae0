// SPDX-License-Identifier: Apache-2.0
#include "kernel/object.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace polytop {

namespace {

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

}  // namespace

bpf_object* openObject(const std::string& path) {
  libbpf_set_print(keepLog);
  libbpfLog.clear();
  bpf_object* object = bpf_object__open_file(path.c_str(), nullptr);
  if (!object) throw Failure("the BPF object cannot be opened: " + path, errno);
  return object;
}

void setConstants(bpf_object* object, uint32_t possibleCpus) {
  bpf_map* constants = bpf_object__find_map_by_name(object, ".rodata");
  bpf_map* records = bpf_object__find_map_by_name(object, "records");
  bpf_map* knownRules = bpf_object__find_map_by_name(object, "known_rules");
  size_t size = 0;
  auto* rodata = constants
                     ? const_cast<uint32_t*>(static_cast<const uint32_t*>(bpf_map__initial_value(constants, &size)))
                     : nullptr;
  if (!records || !knownRules || !rodata) throw Failure("the BPF object lacks a map");
  eachVariable(object, ".rodata", [&](const char* name, uint32_t offset, uint32_t) {
    if (strcmp(name, "cpu_count") == 0) rodata[offset / 4] = possibleCpus;
    if (strcmp(name, "ring_wakeup_bytes") == 0) rodata[offset / 4] = bpf_map__max_entries(records) / 4;
  });
  bpf_map__set_max_entries(knownRules, possibleCpus);
}

void loadObject(bpf_object* object) {
  // The verifier gives up with EAGAIN while a signal waits, and a sampling profiler of Node sends many.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = bpf_object__load(object);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error) throw Failure("the kernel refused the BPF program\n" + libbpfLog, -error);
}

}  // namespace polytop
