// SPDX-License-Identifier: Apache-2.0
// Counts the checks of a test program and tells of those that failed.
#pragma once

#include <cstdio>

namespace polytop {

inline int failures = 0;
inline int checks = 0;

inline void check(bool good, const char* what) {
  checks++;
  if (good) return;
  failures++;
  std::printf("FAILED: %s\n", what);
}

/// The exit status: 1 if a check failed.
inline int reportChecks() {
  std::printf("%d checks, %d failed\n", checks, failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace polytop
