// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bpf/abi.h"
#include "v8/position_table.h"

namespace polytop {

/// A call in a function.
struct PlacedCall {
  uint64_t name;  ///< of the function
  SourcePosition position;
};

/// The calls in what TurboFan compiled of a function, and those of them that others were compiled in for.
class CompiledCalls {
 public:
  /// `inlined`: each may be in one before it; `returns`: offsets in the code that calls return to, in any order.
  CompiledCalls(std::span<const v8_inlined> inlined, std::span<const uint32_t> returns);

  /// Whether one of the calls that V8 can leave the code at returns to an offset in it. Of others it notes no position,
  /// so that a table would tell that of the one before.
  bool returnsTo(uint32_t offset) const;
  /// The frames at a position of the code's table, innermost first: those of functions that were compiled in, and that
  /// of `function`, which was compiled. None where the position is not known or leads nowhere.
  std::vector<PlacedCall> framesOf(SourcePosition position, uint64_t function) const;
  size_t bytes() const;

 private:
  std::vector<v8_inlined> inlined_;
  std::vector<uint32_t> returns_;  ///< ascending
};

}  // namespace polytop
