// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpf/types.h"
#include "elf/elf_image.h"

namespace polytop {

/// Whether a file may define a symbol: looks for its name as bytes, which is cheap. Most files hold no interpreter, and
/// to read their symbols would be dear.
bool mayDefine(const ElfImage& image, std::string_view name);

/// Whether a file is linked against musl: its dynamic strings name musl's library or loader.
bool usesMusl(const ElfImage& image);

/// The symbols of a file that have one of some names, and the words that the dynamic linker fills in. A file may have
/// millions of others.
class DataSymbols {
 public:
  struct Symbol {
    uint64_t address = 0;
    uint64_t size = 0;
  };

  /// `wanted` outlives it, and names at most 95 characters long are found.
  DataSymbols(const ElfImage& image, std::span<const std::string_view> wanted);

  const Symbol* find(std::string_view name) const;
  /// The pointer at an address of the file, as an address of the file; 0 if it points nowhere.
  uint64_t pointerAt(uint64_t address) const;
  /// Bytes of the file at a symbol; fewer where the file ends, none if there is no such symbol.
  std::vector<uint8_t> bytesAt(std::string_view name, size_t size) const;
  /// The code of a function; 0..0 if the file has none of that name.
  code_range codeOf(std::string_view name) const;
  /// Where a variable lives. A program that is linked against a library may own the variable in its stead (a COPY
  /// relocation): then the word that the dynamic linker fills in leads to the one in use.
  file_place placeOf(std::string_view name) const;
  /// The variable whose value a function returns, of which each thread has its own; THREAD_LOCAL_NONE where its code
  /// does not say that.
  thread_variable variableReturnedBy(std::string_view name) const;

 private:
  const Section* firstOf(uint32_t type) const;
  /// The name at an offset as it is in `wanted_`, empty if it is none of them.
  std::string_view wanted(const std::vector<uint8_t>& names, uint32_t at) const;
  void readTable(const Section& section);
  void readRelocations(const Section& section);

  const ElfImage& image_;
  std::span<const std::string_view> wanted_;
  /// Address minus file offset of the code: what must be taken off an address of the file to count from where file
  /// offset 0 would lie if all of the file were mapped as the code is.
  uint64_t codeBias_ = 0;
  /// Wanted names by their index among the dynamic symbols.
  std::unordered_map<uint32_t, std::string_view> dynamicNames_;
  std::unordered_map<std::string_view, Symbol> defined_;
  std::unordered_map<std::string_view, uint64_t> slots_;  ///< words that will hold the addresses of symbols
  std::vector<std::pair<uint64_t, uint64_t>> relative_;   ///< by ascending address: what is put there
};

}  // namespace polytop
