// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace polytop {

/// Reads memory of another process (process_vm_readv(2): no stop, no ptrace attach).
/// Returns the bytes read, fewer than `size` where a page is missing, 0 if nothing could be read.
size_t readProcessMemory(pid_t pid, uint64_t address, void* into, size_t size);

}  // namespace polytop
