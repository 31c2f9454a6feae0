// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "symbols/symbol_entry.h"

namespace polytop {

/// Which bytes hold the names of a table.
enum class NameSource : uint32_t {
  kProgram,    ///< the file itself
  kDebugFile,  ///< the separate debug file that was given
  kUnpacked,   ///< SymbolList::unpackedNames
};

/// Where the names of a table are.
struct NamePlace {
  NameSource source = NameSource::kProgram;
  uint32_t reserved = 0;
  uint64_t offset = 0;
  uint64_t size = 0;  ///< 0: there are none
};

/// The functions of a file, arranged (see arrangeSymbols()). Their names stay where they are.
struct SymbolList {
  /// The file's own .symtab has some: a separate debug file would add nothing.
  bool isWhole = false;
  std::vector<SymbolEntry> entries;
  NamePlace names, dynamicNames;
  std::vector<uint8_t> unpackedNames;
};

/// The list as bytes, for another process or a later run.
std::vector<uint8_t> encodeSymbols(const SymbolList& list);

/// The list of such bytes. False where they are not what encodeSymbols() writes of an arranged list, in whatever way:
/// nothing in them is trusted.
bool decodeSymbols(std::span<const uint8_t> bytes, SymbolList& list);

}  // namespace polytop
