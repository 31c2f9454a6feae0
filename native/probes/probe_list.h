// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace polytop {

/// A function of a file, as a probe can reach it.
struct ProbedFunction {
  std::string name;        ///< as the symbol table has it, without its version
  std::string written;     ///< as people write it, where that was asked for; without its parameters
  std::string parameters;  ///< their list, where there is one
  std::string version;     ///< empty: it has none
  uint64_t offset = 0;     ///< in the file
  bool isOld = false;      ///< of a version that is kept for programs that were linked long ago
  bool isChooser = false;  ///< STT_GNU_IFUNC: it runs once, and says which function is meant by the name
};

/// Every function with a symbol in a file, each name, version and place once.
struct FunctionList {
  /// The file's own .symtab has some: a separate debug file would add nothing.
  bool isWhole = false;
  std::vector<ProbedFunction> functions;
};

/// A probe that a program's author put into it (USDT, <sys/sdt.h>).
struct StaticProbe {
  std::string provider;
  std::string name;
  uint64_t offset = 0;
  uint64_t semaphore = 0;  ///< file offset of the counter that tells the program of a probe; 0: none
};

// These write and read bytes that nobody vouches for: a reader returns false where they are anything else.

std::vector<uint8_t> encodeFunctions(const FunctionList& list);
bool decodeFunctions(std::span<const uint8_t> bytes, FunctionList& list);
std::vector<uint8_t> encodeStaticProbes(const std::vector<StaticProbe>& probes);
bool decodeStaticProbes(std::span<const uint8_t> bytes, std::vector<StaticProbe>& probes);

}  // namespace polytop
