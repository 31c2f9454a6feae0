// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bpf/abi.h"
#include "memory/memory_reader.h"

namespace polytop {

/// Where the lines of a script begin.
class ScriptLines {
 public:
  /// `source`: one byte a character, or two where `isWide`. `linesBefore` is what its embedder counts ahead of it.
  ScriptLines(std::span<const uint8_t> source, bool isWide, int32_t linesBefore = 0);
  /// The line of the character at an offset, from 1 on; 0 where `linesBefore` leaves none.
  uint32_t lineOf(uint32_t offset) const;
  size_t bytes() const { return sizeof *this + ends_.size() * sizeof(uint32_t); }

 private:
  int32_t linesBefore_ = 0;
  std::vector<uint32_t> ends_;  ///< offsets of the characters that end lines, ascending
};

/// Reads the source of a script out of its process. Nothing where it is not there any more, or may have been moved or
/// changed while it was read.
std::vector<uint8_t> readSource(MemoryReader& memory, const v8_script_record& script);

}  // namespace polytop
