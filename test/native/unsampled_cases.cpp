// SPDX-License-Identifier: Apache-2.0
//
// Made-up accounts of CPU time for Unsampled; exits with 1 if a check failed.
#include <sstream>
#include <string>
#include <vector>

#include "check.h"
#include "drain/unsampled.h"

namespace {

using namespace polytop;

constexpr uint32_t kFrequency = 100;

void testReading() {
  std::istringstream stat(
      "cpu  1 2 3 4 5 6 7 8 9 10\n"
      "cpu0 100 2 3 400 50 6 70 8 9 10\n"
      "cpu2 100 2 3 500 0 6 30 8 9 10\n"
      "cpu99999999 1 1 1 1 1 1 1\n"
      "cpuX\n"
      "intr 1 2 3\n"
      "cpu3 1 1 1 1 1 1 1\n");
  const std::vector<CpuTime> times = readCpuTimes(stat);
  check(times.size() == 3, "CPUs up to the last that has a line");
  check(times[0].idle == 4.5 && times[0].softirq == 0.7, "waiting for a disk is idle");
  check(times[1].idle == 0 && times[1].softirq == 0, "a CPU that is offline");
  check(times[2].idle == 5 && times[2].softirq == 0.3, "a CPU behind it");
}

/// A CPU for some seconds, each the same: what was met, and what the kernel says.
struct Second {
  uint64_t met, softirqs;    ///< samples
  double idle, softirqTime;  ///< seconds
};

uint64_t counted(const Second& second, int seconds) {
  Unsampled unsampled;
  std::vector<cpu_totals> totals(1);
  std::vector<CpuTime> times(1);
  uint64_t count = 0;
  totals[0].met = 5000;
  unsampled.look(totals, 0, kFrequency);
  for (int i = 0; i < seconds; i++) {
    totals[0].ticks++;
    totals[0].met += second.met;
    totals[0].softirqs += second.softirqs;
    times[0].idle += second.idle;
    times[0].softirq += second.softirqTime;
    if (unsampled.look(totals, 1, kFrequency)) unsampled.compare(times);
    count += unsampled.take(0);
  }
  return count;
}

void testCounting() {
  // The first second has nothing to compare with.
  check(counted({60, 0, 0.3, 0.1}, 11) == 100, "softirqs on a CPU whose idle task is not sampled");
  check(counted({60, 4, 0.3, 0.1}, 11) == 60, "less those that interrupted other tasks");
  check(counted({100, 0, 0.3, 0.1}, 11) == 0, "a kernel that samples the idle task");
  check(counted({98, 0, 0.3, 0.1}, 11) == 0, "a tick more or less");
  check(counted({60, 10, 0, 0.5}, 11) == 0, "ticks that were lost on a busy CPU");
  check(counted({60, 20, 0.3, 0.1}, 11) == 0, "more softirqs sampled than there were");
  check(counted({0, 0, 1, 0}, 11) == 0, "an idle CPU");
}

void testOffline() {
  Unsampled unsampled;
  std::vector<cpu_totals> totals(2);
  unsampled.look(totals, 0, kFrequency);
  for (int i = 0; i < 4; i++) {
    totals[0].ticks++;
    unsampled.look(totals, 1, kFrequency);
    // Its account goes back, and is that of no CPU.
    unsampled.compare({{.idle = 10.0 - i, .softirq = 5.0 + i}});
  }
  check(unsampled.take(0) == 0, "an account that goes back");
  check(unsampled.take(1) == 0 && unsampled.take(7) == 0, "a CPU without an account");
}

}  // namespace

int main() {
  testReading();
  testCounting();
  testOffline();
  return reportChecks();
}
