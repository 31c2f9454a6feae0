// SPDX-License-Identifier: Apache-2.0
#include "util/memory.h"

#include <sys/uio.h>

namespace polytop {

size_t readProcessMemory(pid_t pid, uint64_t address, void* into, size_t size) {
  iovec local = {into, size};
  iovec remote = {reinterpret_cast<void*>(address), size};
  const ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
  return got > 0 ? static_cast<size_t>(got) : 0;
}

}  // namespace polytop
