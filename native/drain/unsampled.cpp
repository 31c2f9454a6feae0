// SPDX-License-Identifier: Apache-2.0
#include "drain/unsampled.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

namespace polytop {

namespace {

constexpr uint32_t kMaxCpus = 1 << 16;
/// Over so many seconds it is judged whether idle time is met: a CPU that rests ticks 8 times a second.
constexpr double kMemorySeconds = 2;
/// Shares of a second's samples: what is not met at the least, and what is idle.
constexpr double kFewest = 0.05;
/// A CPU on which more of the idle time than this is met is one whose idle task is sampled.
constexpr double kMetShare = 0.5;
/// Sums of hundredths of seconds are off by less.
constexpr double kRounding = 1e-6;

}  // namespace

std::vector<CpuTime> readCpuTimes(std::istream& stat) {
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  std::vector<CpuTime> times;
  // The lines of CPUs are the first ones; that of all CPUs has no number.
  for (std::string line; std::getline(stat, line) && line.starts_with("cpu");) {
    std::istringstream fields(line.substr(3));
    uint32_t cpu = 0;
    uint64_t user = 0, nice = 0, system = 0, idle = 0, wait = 0, interrupt = 0, softirq = 0;
    if (line[3] == ' ' || !(fields >> cpu >> user >> nice >> system >> idle >> wait >> interrupt >> softirq) ||
        cpu >= kMaxCpus)
      continue;
    if (cpu >= times.size()) times.resize(cpu + 1);
    times[cpu] = {static_cast<double>(idle + wait) / ticks, static_cast<double>(softirq) / ticks};
  }
  return times;
}

bool Unsampled::look(const std::vector<cpu_totals>& totals, double seconds, uint32_t frequency) {
  frequency_ = frequency;
  cpus_.resize(totals.size());
  const double samples = seconds * frequency, memory = std::exp(-seconds / kMemorySeconds);
  bool isAsked = false;
  for (size_t i = 0; i < totals.size(); i++) {
    Cpu& cpu = cpus_[i];
    const auto met = static_cast<double>(totals[i].met - cpu.met);
    cpu.expected += samples;
    cpu.sampled += static_cast<double>(totals[i].softirqs - cpu.softirqs);
    cpu.unmet = seconds > 0 ? memory * (cpu.unmet + samples - met) : 0;
    cpu.idle *= memory;
    cpu.met = totals[i].met;
    cpu.softirqs = totals[i].softirqs;
    isAsked |= totals[i].ticks > 0 && cpu.unmet > kFewest * frequency;
  }
  if (!isAsked) {
    for (Cpu& cpu : cpus_) cpu.isCompared = false;
  }
  return isAsked;
}

void Unsampled::compare(const std::vector<CpuTime>& times) {
  for (size_t i = 0; i < cpus_.size(); i++) {
    Cpu& cpu = cpus_[i];
    const CpuTime time = i < times.size() ? times[i] : CpuTime{};
    if (cpu.isCompared) {
      cpu.idle += (time.idle - cpu.time.idle) * frequency_;
      const double softirqs = (time.softirq - cpu.time.softirq) * frequency_;
      const bool isIdle = cpu.idle > kFewest * frequency_, isUnmet = cpu.unmet > kMetShare * cpu.idle;
      // A CPU that comes online begins anew.
      const bool isSound = time.idle >= cpu.time.idle && softirqs >= 0 && softirqs <= cpu.expected + frequency_;
      cpu.due = isIdle && isUnmet && isSound ? std::max(cpu.due + softirqs - cpu.sampled, -cpu.expected) : 0;
    }
    cpu.time = time;
    cpu.isCompared = true;
    cpu.expected = cpu.sampled = 0;
  }
}

uint64_t Unsampled::take(uint32_t cpu) {
  if (cpu >= cpus_.size() || cpus_[cpu].due + kRounding < 1) return 0;
  const auto count = static_cast<uint64_t>(cpus_[cpu].due + kRounding);
  cpus_[cpu].due -= static_cast<double>(count);
  return count;
}

}  // namespace polytop
