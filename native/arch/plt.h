// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace polytop::arch {

/// Entries of a procedure linkage table are this long, or half as long.
constexpr size_t kPltEntry = 16;

/// What a stub of a procedure linkage table leads to.
struct PltTarget {
  uint64_t slot = 0;        ///< address of the word that it jumps through; 0: it jumps to the linker
  uint64_t relocation = 0;  ///< then: index of the relocation of its function in .rela.plt
};

/// Reads the stub at an address; nothing where it is none.
std::optional<PltTarget> readPltStub(std::span<const uint8_t> code, uint64_t address);

/// How the words on the stack differ within a table without unwind entries, by offsets in it.
struct PltLayout {
  size_t firstPush = 0;   ///< behind the push of its first entry
  size_t entries = 0;     ///< where the others begin
  int32_t threshold = 0;  ///< in each: behind its push
};

/// Tells that of a table as lld and older linkers write it: jmp *slot(%rip); push $n; jmp first. Nothing where it looks
/// otherwise.
std::optional<PltLayout> readPltLayout(std::span<const uint8_t> code);

}  // namespace polytop::arch
