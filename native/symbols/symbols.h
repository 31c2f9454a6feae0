// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "elf/elf_image.h"

namespace polytop {

/// A function found for an address.
struct Symbol {
  std::string name;    ///< demangled, without parameter list where that is possible
  uint64_t start = 0;  ///< file offset of its first byte
};

/**
 * The function symbols of one file: .symtab, .dynsym, its separate debug file
 * (build-id, .gnu_debuglink), .gnu_debugdata and .gopclntab, indexed once by file offset.
 * Names stay in the file and are read when asked for.
 */
class SymbolIndex {
 public:
  /// `fd` stays open as long as the index lives and is not owned by it.
  /// `root` is the directory under which /usr/lib/debug is looked up ("" = the machine's own).
  static std::unique_ptr<SymbolIndex> build(int fd, const ElfImage& image, const std::string& root);
  virtual ~SymbolIndex() = default;

  /// The function that holds the file offset. `functionStart` is the start of the enclosing
  /// unwind entry (0: unknown): a symbol below it belongs to another function and is refused.
  virtual std::optional<Symbol> find(uint64_t offset, uint64_t functionStart) const = 0;
  /// Start of the function that find() would name: a file offset, 0 if there is none. Reads no name.
  virtual uint64_t startOf(uint64_t offset, uint64_t functionStart) const = 0;
  virtual size_t size() const = 0;
  virtual size_t memoryBytes() const = 0;
};

/// Demangles C++ (Itanium), Rust (v0, legacy) and D names; others come back as they are.
/// Parameter lists are left out where the demangler can.
std::string demangle(const std::string& name);

}  // namespace polytop
