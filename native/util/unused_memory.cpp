// SPDX-License-Identifier: Apache-2.0
#include "util/unused_memory.h"

#include <malloc.h>
#include <sys/mman.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

namespace polytop {

namespace {

/// A mapping as /proc/PID/smaps begins to describe it.
struct Mapping {
  uint64_t start = 0;
  uint64_t end = 0;
  bool isReadOnlyFile = false;
};

/// False for the other lines of smaps, and `mapping` stays as it is.
bool parseMapping(const std::string& line, Mapping& mapping) {
  char permissions[5] = {};
  uint64_t start = 0, end = 0, inode = 0;
  const int fields =
      sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %*x %*s %" SCNu64, &start, &end, permissions, &inode);
  if (fields != 4) return false;
  mapping = {start, end, inode != 0 && permissions[1] == '-' && permissions[3] == 'p'};
  return true;
}

}  // namespace

void releaseUnusedMemory() {
  malloc_trim(0);
  std::ifstream smaps("/proc/self/smaps");
  Mapping mapping;
  for (std::string line; std::getline(smaps, line);) {
    uint64_t kilobytes = 0;
    if (parseMapping(line, mapping)) continue;
    if (sscanf(line.c_str(), "Anonymous: %" SCNu64, &kilobytes) != 1) continue;
    // Pages of its own (relocated ones) would be lost.
    if (!mapping.isReadOnlyFile || kilobytes > 0) continue;
    auto* start = reinterpret_cast<void*>(mapping.start);
    const size_t size = mapping.end - mapping.start;
    // Where the page cache has the file in huge pages, each access would bring 2 MB back (Linux 6.16, ext4).
    madvise(start, size, MADV_NOHUGEPAGE);
    madvise(start, size, MADV_DONTNEED);
  }
}

}  // namespace polytop
