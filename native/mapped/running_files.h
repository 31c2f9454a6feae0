// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bpf/abi.h"

namespace polytop {

/**
 * The files that processes have mapped to execute, each once, without ctime and generation: those of processes that
 * run just now first, then those of most processes. Looks at each process for which `isWanted` says so, for a tenth of
 * a second at most.
 */
std::vector<file_record> runningFiles(const std::function<bool(uint32_t)>& isWanted);

/**
 * Makes the record of an open file that nobody has mapped: it is mapped for a moment, and nothing of it is touched.
 * False where that is refused, as on a file system that is mounted noexec.
 */
bool recordOfFile(int fd, file_record& record);

}  // namespace polytop
