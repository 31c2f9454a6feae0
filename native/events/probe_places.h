// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elf/needed_files.h"
#include "symbols/line_places.h"

namespace polytop {

/// A function of a file, as a probe can reach it.
struct ProbedFunction {
  std::string name;        ///< as the symbol table has it, without its version
  std::string version;     ///< empty: it has none
  uint64_t offset = 0;     ///< in the file
  bool isOld = false;      ///< of a version that is kept for programs that were linked long ago
  bool isChooser = false;  ///< STT_GNU_IFUNC: it runs once, and says which function is meant by the name
};

/// Every function with a symbol in a file or in its separate debug file, each name, version and place once. Throws a
/// Failure where the file cannot be read; it is taken for hostile.
std::vector<ProbedFunction> listFunctions(const std::string& path);

/// What choosers of a file chose, for each of them: where the function is in the file, kNotLoaded or kElsewhere.
constexpr int64_t kNotLoaded = -1, kElsewhere = -2;
/// Knows it of files alone that this process has loaded itself, as it has the C library: what they choose depends on
/// the processor and on GLIBC_TUNABLES.
std::vector<int64_t> chosenFunctions(const std::string& path, const std::vector<ProbedFunction>& choosers);

/// Where a source line begins in a file: see findLinePlaces(). Throws a Failure where the file cannot be read.
LinePlaces listLinePlaces(const std::string& path, const std::string& source, uint32_t line);

/// What a program or library needs to run. Throws a Failure where the file cannot be read.
NeededFiles listNeededFiles(const std::string& path);

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
