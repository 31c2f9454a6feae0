// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "elf/elf_image.h"
#include "symbols/symbol_entry.h"
#include "symbols/symbol_list.h"

namespace polytop {

/// The executable parts of a program: which addresses are code, and where in the file.
class CodeRanges {
 public:
  explicit CodeRanges(const ElfImage& image);

  /// File offset of a code address; false if there is no code, or beyond 4 GB.
  bool toOffset(uint64_t address, uint32_t& offset) const;
  /// Whether a section of code holds the offset, where the file has sections.
  bool isInSection(uint32_t offset) const;
  /// End of the section, or else of the segment, that holds the offset: nothing goes on beyond it.
  uint32_t endOf(uint32_t offset) const;

 private:
  struct Range {
    uint64_t address;
    uint64_t offset;
    uint64_t size;
  };
  std::vector<Range> segments_;
  std::vector<Range> sections_;
};

/**
 * Adds the functions of a table to `into`, in the order of the table: STT_FUNC, STT_GNU_IFUNC, and STT_NOTYPE
 * (hand-written assembler), where they are defined in code.
 *
 * `type`: SHT_SYMTAB or SHT_DYNSYM. Returns where in `file` the names are. At most 4 million symbols are read.
 */
NamePlace readSymbols(const ElfImage& file, uint32_t type, const CodeRanges& code, std::vector<SymbolEntry>& into);

/**
 * Sorts the entries and leaves one answer for each address where that is possible: sizes that the table does
 * not say are filled in, labels inside of a function that has a size go, local names go where the same place has
 * one that others can see, and names of .dynsym where .symtab has one. Aliases that are left stay: which
 * one is best is decided by their names, when somebody asks.
 */
void arrangeSymbols(std::vector<SymbolEntry>& entries, const CodeRanges& code);

}  // namespace polytop
