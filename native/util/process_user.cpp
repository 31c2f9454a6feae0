// SPDX-License-Identifier: Apache-2.0
#include "util/process_user.h"

#include <cstdlib>
#include <fstream>
#include <string>

namespace polytop {

uint32_t userOfProcess(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Uid:")) return static_cast<uint32_t>(strtoul(line.c_str() + 4, nullptr, 10));
  }
  return kUnknownUser;
}

}  // namespace polytop
