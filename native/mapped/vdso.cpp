// SPDX-License-Identifier: Apache-2.0
#include "mapped/vdso.h"

#include <sys/auxv.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace polytop {

std::span<const uint8_t> findVdso() {
  const unsigned long start = getauxval(AT_SYSINFO_EHDR);
  // The auxiliary vector tells where it starts, only the list of mappings where it ends.
  std::ifstream maps("/proc/self/maps");
  for (std::string line; start != 0 && std::getline(maps, line);) {
    unsigned long from = 0, to = 0;
    if (sscanf(line.c_str(), "%lx-%lx", &from, &to) == 2 && from == start)
      return {reinterpret_cast<const uint8_t*>(start), to - from};
  }
  return {};
}

}  // namespace polytop
