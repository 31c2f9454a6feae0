// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace polytop {

/// Memory of the process: false where it cannot be read.
using ReadMemory = std::function<bool(uint64_t address, void* into, size_t size)>;
/// Whether an op number is that of a statement (nextstate, dbstate).
using IsStatement = std::function<bool(uint32_t number)>;

/// An op in a statement.
struct PerlSite {
  uint64_t statement = 0;  ///< address of its COP
  uint64_t op = 0;         ///< address; 0: not known
  bool isNext = false;     ///< `op` is the one behind the call, not the one being executed
};

/// What the op tree of a statement says.
struct StatementLines {
  bool readable = false;  ///< the statement is there, it has the line expected, and all of its tree was read
  bool several = false;   ///< parts of it have lines of their own
  uint32_t line = 0;      ///< of the op; 0 where it is not in the tree
};

/**
 * The line of an op as caller() and die() say it (closest_cop() in util.c, perl 5.28 to 5.42): that of the
 * last statement before it in the tree, where the optimiser has taken that statement out (`elsif`, `while`).
 * `line` is the statement's own, as it was when the op was executed: if it is another now, so is the statement.
 */
StatementLines readStatement(const ReadMemory& read, const IsStatement& isStatement, const PerlSite& site,
                             uint32_t line);

}  // namespace polytop
