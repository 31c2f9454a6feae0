// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elf/elf_image.h"

namespace polytop {

/// How far a symbol can be seen; smaller is better known, and preferred.
enum class Binding : uint32_t { kGlobal = 0, kWeak = 1, kLocal = 2 };

/**
 * One function of an index: 12 bytes. A program's code lies in the first 4 GB of its file, its functions
 * are smaller than 1 GB and its names take less than 2 GB; a symbol that is otherwise is left out.
 */
struct SymbolEntry {
  static constexpr uint32_t kMaxSize = (1u << 30) - 1;
  static constexpr uint32_t kDynamic = 1u << 31;  ///< the name is in .dynstr

  uint32_t start;           ///< file offset of the first byte, in the program itself
  uint32_t bindingAndSize;  ///< Binding << 30 | bytes; 0 bytes: the table does not say
  uint32_t name;            ///< offset in the string table, with kDynamic

  uint32_t size() const { return bindingAndSize & kMaxSize; }
  Binding binding() const { return static_cast<Binding>(bindingAndSize >> 30); }
  bool dynamic() const { return (name & kDynamic) != 0; }
  void setSize(uint32_t size) { bindingAndSize = (bindingAndSize & ~kMaxSize) | size; }
};

/// The executable parts of a program: which addresses are code, and where in the file.
class CodeRanges {
 public:
  explicit CodeRanges(const ElfImage& image);

  /// File offset of a code address; false if there is no code, or beyond 4 GB.
  bool toOffset(uint64_t address, uint32_t& offset) const;
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

/// Where the names of a table are: in a file, or in memory.
class StringTable {
 public:
  StringTable() = default;
  StringTable(int fd, uint64_t offset, uint64_t size) : fd_(fd), offset_(offset), size_(size) {}
  explicit StringTable(std::vector<uint8_t> bytes) : size_(bytes.size()), bytes_(std::move(bytes)) {}

  /// The string there, cut after 8 KB; empty if it cannot be read.
  std::string at(uint32_t offset) const;
  uint64_t size() const { return size_; }
  size_t memoryBytes() const { return bytes_.capacity(); }

 private:
  int fd_ = -1;
  uint64_t offset_ = 0;
  uint64_t size_ = 0;
  std::vector<uint8_t> bytes_;
};

/**
 * Adds the functions of a table to `into`, in the order of the table: STT_FUNC, STT_GNU_IFUNC, and
 * STT_NOTYPE with a size (hand-written assembler), where they are defined in code.
 *
 * `type`: SHT_SYMTAB or SHT_DYNSYM. `fd`: the descriptor behind `file`, -1 if it is in memory; the names are
 * copied then. At most 4 million symbols are read.
 */
StringTable readSymbols(const ElfImage& file, int fd, uint32_t type, const CodeRanges& code,
                        std::vector<SymbolEntry>& into);

/**
 * Sorts the entries and leaves one answer for each address where that is possible: sizes that the table does
 * not say are filled in, labels inside of a function that has a size go, local names go where the same place has
 * one that others can see, and names of .dynsym where .symtab has one. Aliases that are left stay: which
 * one is best is decided by their names, when somebody asks.
 */
void arrangeSymbols(std::vector<SymbolEntry>& entries, const CodeRanges& code);

}  // namespace polytop
