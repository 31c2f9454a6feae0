// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace polytop {

/// What the kernel says of polytop's programs: why it refuses some, empty where it takes them.
struct LoadTrial {
  std::string sampling;  ///< those that every run needs
  std::string waits;     ///< those that visit waiting threads; untried where the others are refused
};

/// Loads both BPF objects as a run does, and gives them up again: a second or two. `sweepPath`: that for waits.
LoadTrial tryToLoad(const std::string& objectPath, const std::string& sweepPath);

}  // namespace polytop
