// SPDX-License-Identifier: Apache-2.0
// What the processor says of its page tables. Sources: AMD's manual, volume 3, "Fn8000_001F"; the flag la57 is there
// where the kernel uses five levels (arch/x86/mm/mem_encrypt_boot.S, arch/x86/kernel/cpu/common.c of Linux).
#include <cpuid.h>

#include <fstream>
#include <string>

#include "arch/arch.h"

namespace polytop::arch {

uint32_t tableLevels() {
  std::ifstream processors("/proc/cpuinfo");
  for (std::string line; std::getline(processors, line);) {
    if (line.starts_with("flags")) return line.find(" la57") == std::string::npos ? 4 : 5;
  }
  return 4;
}

uint64_t encryptionMask() {
  constexpr unsigned kEncryption = 0x8000001f;
  constexpr unsigned kEncrypts = 3;  // SME or SEV
  constexpr unsigned kBitNumber = 0x3f;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(kEncryption, &a, &b, &c, &d) || !(a & kEncrypts)) return 0;
  return 1ULL << (b & kBitNumber);
}

}  // namespace polytop::arch
