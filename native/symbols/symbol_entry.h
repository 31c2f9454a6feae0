// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace polytop {

/// How far a symbol can be seen; smaller is better known, and preferred.
enum class Binding : uint32_t {
  kGlobal = 0,
  kWeak = 1,
  kLocal = 2,
  kLabel = 3,  ///< local, without type and size: a function only where an unwind entry begins
};

/**
 * One function of a file: 12 bytes. A program's code lies in the first 4 GB of its file, its functions
 * are smaller than 512 MB and its names take less than 1 GB; a symbol that is otherwise is left out.
 */
struct SymbolEntry {
  static constexpr uint32_t kMaxSize = (1u << 29) - 1;
  static constexpr uint32_t kFilled = 1u << 29;   ///< the table does not say the size: it reaches to what follows
  static constexpr uint32_t kDynamic = 1u << 31;  ///< the name is in .dynstr
  static constexpr uint32_t kStub = 1u << 30;     ///< it is a stub that leads to the function of that name
  static constexpr uint32_t kNameMask = kStub - 1;

  uint32_t start;           ///< file offset of the first byte, in the program itself
  uint32_t bindingAndSize;  ///< Binding << 30 | bytes, with kFilled; 0 bytes: the table does not say
  uint32_t name;            ///< offset in the string table, with kDynamic and kStub

  uint32_t size() const { return bindingAndSize & kMaxSize; }
  Binding binding() const { return static_cast<Binding>(bindingAndSize >> 30); }
  bool dynamic() const { return (name & kDynamic) != 0; }
  bool stub() const { return (name & kStub) != 0; }
  bool filled() const { return (bindingAndSize & kFilled) != 0; }
  void fillSize(uint32_t size) { bindingAndSize = (bindingAndSize & ~kMaxSize) | kFilled | size; }
};

}  // namespace polytop
