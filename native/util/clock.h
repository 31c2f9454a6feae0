// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <ctime>

namespace polytop {

constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr uint64_t kNanosecondsPerMillisecond = 1'000'000;

/// What a clock of clock_gettime(2) shows, in nanoseconds.
inline uint64_t clockNanoseconds(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNanosecondsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

/// The CPU time in a result of getrusage(2), in nanoseconds.
inline uint64_t cpuNanoseconds(const rusage& usage) {
  const auto microseconds = [](const timeval& time) {
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_usec);
  };
  return (microseconds(usage.ru_utime) + microseconds(usage.ru_stime)) * 1000;
}

}  // namespace polytop
