// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bpf/abi.h"
#include "mapped/proc_lines.h"

namespace polytop {

/// The pids of processes: of those whose main thread runs just now or waits for a CPU and of the calling one, and of
/// the others.
struct Processes {
  std::vector<uint32_t> running;
  std::vector<uint32_t> waiting;
};

/// The processes for which `isWanted` says so.
Processes findProcesses(const std::function<bool(uint32_t)>& isWanted);

/// Calls `use` with all code of files that a process has mapped; never where that cannot be read.
void eachMappedCode(uint32_t pid, const std::function<void(const Mapping&)>& use);

/// Is told of a process and of code that it has mapped.
using OnMapped = std::function<void(uint32_t pid, const Mapping&)>;

/**
 * The files that these processes have mapped to execute, each once, without ctime and generation: those of most
 * processes first. Looks for a tenth of a second of CPU time at most, however busy the machine is, and tells `onMapped`
 * what it sees.
 */
std::vector<file_record> executedFiles(const std::vector<uint32_t>& pids, const OnMapped& onMapped);

/**
 * Makes the record of an open file that nobody has mapped: it is mapped for a moment, and nothing of it is touched.
 * False where that is refused, as on a file system that is mounted noexec.
 */
bool recordOfFile(int fd, file_record& record);

}  // namespace polytop
