// SPDX-License-Identifier: Apache-2.0
#include "elf/vdso.h"

#include <sys/auxv.h>

#include <cstdio>
#include <fstream>

namespace polytop {

std::unique_ptr<ElfImage> openVdso(std::string& why) {
  const unsigned long start = getauxval(AT_SYSINFO_EHDR);
  // The auxiliary vector tells where it starts, only the list of mappings where it ends.
  std::ifstream maps("/proc/self/maps");
  for (std::string line; start != 0 && std::getline(maps, line);) {
    unsigned long from = 0, to = 0;
    if (sscanf(line.c_str(), "%lx-%lx", &from, &to) == 2 && from == start)
      return ElfImage::openMemory(reinterpret_cast<const uint8_t*>(start), to - from, why);
  }
  why = "this process has no vDSO";
  return nullptr;
}

}  // namespace polytop
