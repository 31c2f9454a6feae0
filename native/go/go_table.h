// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "elf/elf_image.h"

namespace polytop {

/**
 * The table that the runtime of Go needs itself to walk stacks (.gopclntab; runtime/symtab.go: pcHeader,
 * functab, _func); stripping leaves it. Reads the form of Go 1.18 to 1.26. Every byte is hostile.
 */
class GoTable {
 public:
  /// Both are relative: to the start of the code, to the function table.
  struct Place {
    uint32_t entry;
    uint32_t description;
  };

  /// What is said of a function, as far as all these versions say it in the same place.
  struct Function {
    uint32_t entry;
    uint32_t name;  ///< offset of the name in names()
    int32_t argumentBytes;
    uint32_t deferReturn;
    uint32_t depths;  ///< offset of how deep the stack is at each instruction, in the table of values; 0: unknown
  };

  explicit GoTable(const ElfImage& file);

  /// There is such a table, and it is known where its code begins.
  bool valid() const { return start_ != 0; }
  /// Address of the code that the table speaks of.
  uint64_t start() const { return start_; }
  uint32_t size() const { return static_cast<uint32_t>(header_.functions); }
  /// File offset of the names, and their bytes up to the end of the table.
  uint64_t namesOffset() const { return offset_ + header_.names; }
  uint64_t namesSize() const { return bytes_.size() - header_.names; }

  /// The function at `index` and where its code ends; false where that cannot be.
  bool function(uint32_t index, Function& into, uint32_t& end) const;
  /// Whether that is its name, with or without the suffix of a calling convention.
  bool isNamed(const Function& function, std::string_view name) const;
  /// Whether nothing called it: the first function of a goroutine or of a thread.
  bool isOutermost(uint32_t index) const;

  /// Steps through a table of values (runtime/symtab.go: step()): `value` holds up to `end`, relative to the
  /// start of the code. False where the table ends or is malformed.
  struct Values {
    uint64_t at;
    uint32_t end;
    int32_t value = -1;
    bool isFirst = true;
  };
  Values depths(const Function& function) const { return {header_.values + function.depths, function.entry}; }
  bool next(Values& values) const;

 private:
  struct Header {
    uint32_t magic;
    uint8_t zero[2];
    uint8_t instructionQuantum;
    uint8_t pointerSize;
    uint64_t functions;
    uint64_t files;
    uint64_t textStart;  ///< 0 where it is filled in when the program is loaded
    uint64_t names;      ///< this and the following: offsets in the table
    uint64_t units;
    uint64_t fileNames;
    uint64_t values;
    uint64_t functionTable;
  };

  bool isKnown() const;
  bool place(uint32_t index, Place& into) const;
  bool isAt(uint64_t at, std::string_view text) const;
  bool number(uint64_t& at, uint32_t& into) const;
  template <typename T>
  bool get(uint64_t at, T& into) const;

  std::vector<uint8_t> bytes_;
  uint64_t offset_ = 0;
  Header header_ = {};
  uint64_t start_ = 0;
};

}  // namespace polytop
