// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <istream>
#include <vector>

#include "bpf/totals.h"

namespace polytop {

/// CPU time of a CPU by the kernel's own account, in seconds since the boot.
struct CpuTime {
  double idle = 0;  ///< waiting for a disk included
  double softirq = 0;
};

/// By CPU, from the lines `cpuN` of proc_stat(5); CPUs that it leaves out have none.
std::vector<CpuTime> readCpuTimes(std::istream& stat);

/**
 * Softirqs of idle CPUs where the kernel runs no sampling event while the idle task is current (seen with a patched
 * 6.18; perf meets no such time there either). Nobody knows their stacks. How many samples they are worth is what the
 * kernel's account of softirqs has beyond the softirqs that were sampled, on CPUs that were idle and were not met so.
 *
 * Other kernels run the event on idle CPUs: there nothing is ever counted, and /proc/stat is not read.
 */
class Unsampled {
 public:
  /// Takes what the program counted on each possible CPU until now, in `seconds` since the last call at `frequency`.
  /// Returns whether some CPU was met so much more rarely than it was sampled that the account must be asked.
  bool look(const std::vector<cpu_totals>& totals, double seconds, uint32_t frequency);
  /// To be called after look() said so, with the account of this moment.
  void compare(const std::vector<CpuTime>& times);
  /// How many samples of a CPU are to be counted; they are after this.
  uint64_t take(uint32_t cpu);

 private:
  struct Cpu {
    uint64_t met = 0, softirqs = 0;    ///< of cpu_totals, at the last look
    double unmet = 0, idle = 0;        ///< samples of the last seconds: those not met, those that the CPU was idle for
    double expected = 0, sampled = 0;  ///< since the last comparison: samples, and those that met a softirq
    double due = 0;                    ///< samples that are to be counted; negative where more softirqs were sampled
    CpuTime time;                      ///< at the last comparison
    bool isCompared = false;           ///< at the last look
  };

  std::vector<Cpu> cpus_;
  uint32_t frequency_ = 0;
};

}  // namespace polytop
