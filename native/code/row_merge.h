// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "code/code_holes.h"
#include "unwind/unwind_table.h"

namespace polytop {

/// A rule that holds from a file offset on.
struct PlacedRow {
  uint64_t offset;
  uint32_t rule;
};

/// Puts rows in the place of those that a table has for some code. `code` ascends and does not overlap; `found`
/// ascends, and its first row for a piece of code is at the offset of that.
void replaceRows(UnwindTable& table, std::span<const CodeHole> code, std::span<const PlacedRow> found);

}  // namespace polytop
