// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace polytop {

/// Executable code that a process has mapped from a file: a line of proc_pid_maps(5).
struct Mapping {
  uint64_t start = 0, end = 0, offset = 0;
  uint32_t device = 0;  ///< as in file_key
  uint64_t inode = 0;
  std::string path;  ///< as the line has it
};

/// Nothing for any other mapping, and where it is no such line.
std::optional<Mapping> readMapping(const std::string& line);

/// A line of mountinfo (proc(5)).
struct Mount {
  uint64_t id = 0;
  uint32_t device = 0;  ///< as in file_key
  std::string root;
  std::string point;
  std::string type;
};

/// Nothing where it is no such line.
std::optional<Mount> readMount(const std::string& line);

}  // namespace polytop
