// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bpf/abi.h"

namespace polytop {

/// The lines of a code object by the offset of an instruction.
class PythonTable {
 public:
  /// Reads a table of lines; what cannot be read of it has no line. `kind`: how it is written.
  PythonTable(python_table kind, uint32_t firstLine, std::span<const uint8_t> table);

  /// The line of the instruction at an offset in bytes; 0 if it has none.
  uint32_t lineOf(uint32_t offset) const;
  uint32_t firstLine() const { return firstLine_; }
  /// Roughly what it takes of memory.
  size_t bytes() const { return sizeof *this + ranges_.size() * sizeof(Range); }

 private:
  struct Range {
    uint32_t end;  ///< offset behind it, in bytes
    uint32_t line;
  };

  void readLnotab(std::span<const uint8_t> table);
  void readLinetable(std::span<const uint8_t> table);
  void readLocations(std::span<const uint8_t> table);
  /// `line` is 0 where the range has none.
  void add(uint32_t end, int64_t line);

  uint32_t firstLine_;
  std::vector<Range> ranges_;  ///< ascending, one after the other
};

}  // namespace polytop
