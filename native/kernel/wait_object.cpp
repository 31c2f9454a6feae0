// SPDX-License-Identifier: Apache-2.0
#include "kernel/wait_object.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <random>

#include "arch/arch.h"
#include "kernel/object.h"

namespace polytop {

namespace {

/// The memory of the machine in whole GB: the direct map begins at most so far below any table.
uint64_t memoryGigabytes() {
  const auto pages = static_cast<uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L));
  return (pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) >> 30) + 1;
}

}  // namespace

WaitObject::~WaitObject() {
  bpf_link__destroy(link_);
  bpf_object__close(object_);
}

void WaitObject::load(const std::string& path, const bpf_object* sampling, uint32_t possibleCpus, uint32_t rows) {
  possibleCpus_ = possibleCpus;
  try {
    loadPrograms(path, sampling, rows);
    findDirectMap();
  } catch (const Failure& failure) {
    throw failure.after("waits cannot be sampled, the CPU's time can: ");
  }
}

void WaitObject::loadPrograms(const std::string& path, const bpf_object* sampling, uint32_t rows) {
  object_ = openObject(path);
  bpf_program* sweep = bpf_object__find_program_by_name(object_, "sweep");
  bpf_map* counts = bpf_object__find_map_by_name(object_, "wait_counts");
  if (!sweep || !counts) throw Failure("the BPF object lacks a program or a map: " + path);
  bpf_map__set_max_entries(counts, rows);
  setConstants(object_, possibleCpus_);
  shareMaps(object_, sampling);
  loadObject(object_);
  link_ = bpf_program__attach_iter(sweep, nullptr);
  if (!link_) throw Failure("the kernel does not iterate over threads", errno);
}

bool WaitObject::isDirectMap(uint64_t gigabytesBelow) {
  // Memory that is read by mistake does not hold a random word.
  volatile uint64_t word = static_cast<uint64_t>(std::random_device()()) << 32 | std::random_device()();
  remote_question question = {reinterpret_cast<uint64_t>(&word), word, gigabytesBelow};
  const int program = bpf_program__fd(bpf_object__find_program_by_name(object_, "check_remote"));
  LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &question, .ctx_size_in = sizeof question);
  if (bpf_prog_test_run_opts(program, &run) != 0) throw Failure("the kernel does not run the test of memory", errno);
  return run.retval == REMOTE_FOUND;
}

void WaitObject::findDirectMap() {
  const uint32_t zero = 0;
  settings_.encryption_mask = arch::encryptionMask();
  const uint32_t likely = arch::tableLevels();
  for (const uint32_t levels : {likely, arch::kOtherTableLevels - likely}) {
    settings_.table_levels = levels;
    writeSettings(settings_);
    for (uint64_t below = 0; below <= memoryGigabytes() + arch::kMemoryHoleGigabytes; below++) {
      if (!isDirectMap(below)) continue;
      // The program has noted where it is.
      if (bpf_map_lookup_elem(mapFd("wait_settings"), &zero, &settings_) == 0) return;
    }
  }
  throw Failure("the memory of waiting threads cannot be read: this kernel's direct map was not found", ENOTSUP);
}

void WaitObject::writeSettings(const wait_settings& settings) {
  const uint32_t zero = 0;
  if (bpf_map_update_elem(mapFd("wait_settings"), &zero, &settings, BPF_ANY) != 0)
    throw Failure("the sweep cannot be told what to do", errno);
}

void WaitObject::sweep(const wait_settings& settings) {
  writeSettings(settings);
  // An iterator cannot be rewound: each sweep has a new one.
  const FileDescriptor iterator(bpf_iter_create(bpf_link__fd(link_)));
  if (!iterator.valid()) throw Failure("a sweep over the threads cannot begin", errno);
  // The program prints nothing: what is read is the end.
  std::array<char, 64> nothing;
  ssize_t size = 0;
  do size = read(iterator.get(), nothing.data(), nothing.size());
  while (size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR)));
  if (size < 0) throw Failure("a sweep over the threads failed", errno);
}

void WaitObject::sumTotals(cpu_totals& sums) const { polytop::sumTotals(object_, possibleCpus_, sums); }

int WaitObject::mapFd(const char* name) const { return bpf_object__find_map_fd_by_name(object_, name); }

}  // namespace polytop
