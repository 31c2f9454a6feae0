// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "elf/elf_image.h"

namespace polytop {

/// The versions of the dynamic symbols that a file defines.
class SymbolVersions {
 public:
  /// There are none.
  SymbolVersions() = default;
  /// Reads what can be read of a file that is taken for hostile. Facts: "Symbol Versioning" of the Linux Standard Base.
  explicit SymbolVersions(const ElfImage& image);

  /// Leaves both as they are where the symbol at this place of .dynsym has no version. `isOld`: programs that are
  /// linked now get the symbol of another version.
  void describe(size_t place, std::string& version, bool& isOld) const;

 private:
  std::vector<uint8_t> numbers_;  ///< a 16-bit number for each symbol
  std::map<uint16_t, std::string> names_;
};

}  // namespace polytop
