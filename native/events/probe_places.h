// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace polytop {

/// A function of a file, as a probe can reach it.
struct ProbedFunction {
  std::string name;        ///< as the symbol table has it
  uint64_t offset = 0;     ///< in the file
  bool isChooser = false;  ///< STT_GNU_IFUNC: it runs once, and says which function is meant by the name
};

/// Every function with a symbol in a file or in its separate debug file, each name and place once. Throws a Failure
/// where the file cannot be read; it is taken for hostile.
std::vector<ProbedFunction> listFunctions(const std::string& path);

/// A probe that a program's author put into it (USDT, <sys/sdt.h>).
struct StaticProbe {
  std::string provider;
  std::string name;
  uint64_t offset = 0;
  uint64_t semaphore = 0;  ///< file offset of the counter that tells the program of a probe; 0: none
};

/// The static probes of a file. Throws a Failure as listFunctions() does.
std::vector<StaticProbe> listStaticProbes(const std::string& path);

}  // namespace polytop
