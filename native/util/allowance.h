// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "util/clock.h"

namespace polytop {

/// CPU time of a thread that may be spent on what nobody asked for: a small share of a CPU, more at once.
class Allowance {
 public:
  bool isLeft() {
    const double now = seconds(CLOCK_MONOTONIC);
    left_ = std::min(left_ + (now - refilled_) * kShare, kMost);
    refilled_ = now;
    return left_ > 0;
  }
  /// Between these two calls it is spent.
  void begin() { begun_ = seconds(CLOCK_THREAD_CPUTIME_ID); }
  void end() { left_ -= seconds(CLOCK_THREAD_CPUTIME_ID) - begun_; }

 private:
  static constexpr double kShare = 0.02, kMost = 1;  // of a CPU; seconds

  static double seconds(clockid_t clock) { return static_cast<double>(clockNanoseconds(clock)) / 1e9; }

  double left_ = kMost;
  double refilled_ = seconds(CLOCK_MONOTONIC);
  double begun_ = 0;
};

}  // namespace polytop
