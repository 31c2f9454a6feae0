// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace polytop {

/// How far a symbol can be seen; smaller is better known, and preferred.
enum class Binding : uint32_t { kGlobal = 0, kWeak = 1, kLocal = 2 };

/**
 * One function of a file: 12 bytes. A program's code lies in the first 4 GB of its file, its functions
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

}  // namespace polytop
