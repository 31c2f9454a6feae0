// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <string>

#include "bpf/abi.h"
#include "bpf/totals.h"
#include "util/file_descriptor.h"

namespace polytop {

/// The second BPF object, which visits all threads: loaded beside the sampling programs, whose maps it shares.
class WaitObject {
 public:
  WaitObject() = default;
  ~WaitObject();
  WaitObject(const WaitObject&) = delete;
  WaitObject& operator=(const WaitObject&) = delete;

  /// Loads the object beside the loaded one that samples, and finds out how the memory of other processes is read.
  /// `rows`: room for so many threads and stacks between two drains. Throws a Failure where this machine cannot, whose
  /// text says that the CPU's time can be sampled all the same.
  void load(const std::string& path, const bpf_object* sampling, uint32_t possibleCpus, uint32_t rows);
  /// Visits every thread once. Throws a Failure.
  void sweep(const wait_settings& settings);
  /// Settings as load() found them.
  const wait_settings& settings() const { return settings_; }
  int mapFd(const char* name) const;
  /// Sums what the sweeps counted since load(); see polytop::sumTotals().
  void sumTotals(cpu_totals& sums) const;

 private:
  void loadPrograms(const std::string& path, const bpf_object* sampling, uint32_t rows);
  void findDirectMap();
  /// Whether the direct map begins so far below the page tables of this process: a word of its memory tells.
  bool isDirectMap(uint64_t gigabytesBelow);
  void writeSettings(const wait_settings& settings);

  bpf_object* object_ = nullptr;
  bpf_link* link_ = nullptr;
  wait_settings settings_ = {};
  uint32_t possibleCpus_ = 0;
};

}  // namespace polytop
