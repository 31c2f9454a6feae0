// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bpf/abi.h"

namespace polytop {

/// The pids of processes: of those whose main thread runs just now or waits for a CPU and of the calling one, and of
/// the others.
struct Processes {
  std::vector<uint32_t> running;
  std::vector<uint32_t> waiting;
};

/// The processes for which `isWanted` says so.
Processes findProcesses(const std::function<bool(uint32_t)>& isWanted);

/**
 * The files that these processes have mapped to execute, each once, without ctime and generation: those of most
 * processes first. Looks for a tenth of a second at most.
 */
std::vector<file_record> executedFiles(const std::vector<uint32_t>& pids);

/**
 * Makes the record of an open file that nobody has mapped: it is mapped for a moment, and nothing of it is touched.
 * False where that is refused, as on a file system that is mounted noexec.
 */
bool recordOfFile(int fd, file_record& record);

}  // namespace polytop
