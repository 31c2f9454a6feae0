// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

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

/// What readCop() reads at once.
constexpr size_t kCopBytes = 64;

/// The COP of a statement: its line, and a number that tells it from any other that lies at the same address
/// before or after it.
struct PerlCop {
  uint32_t line = 0;
  uint64_t identity = 0;
  bool operator==(const PerlCop&) const = default;
};

/// Reads the COP at an address; nothing where none can be read there.
std::optional<PerlCop> readCop(const ReadMemory& read, const IsStatement& isStatement, uint64_t address);
/// The identity of whatever the bytes of a COP are now.
uint64_t identityOf(const uint8_t (&cop)[kCopBytes]);

/// A statement and those of its ops whose line is not the statement's own.
struct PerlStatement {
  struct OpLine {
    uint64_t op;  ///< address, plus 1 where the op is the one behind a call (PerlSite::isNext)
    uint32_t line;
  };
  PerlCop cop;
  std::vector<OpLine> ops;  ///< by ascending `op`, each once

  /// The line of an op as caller() and die() say it.
  uint32_t lineOf(const PerlSite& site) const;
};

/**
 * Reads the op tree of a statement, all of it at once: an op has the line of the last statement before it in the
 * tree, where the optimiser has taken that statement out (`elsif`, `while`; closest_cop() in util.c, perl 5.28 to
 * 5.42). Returns nothing where the tree cannot be read or is too large.
 */
std::optional<PerlStatement> readStatement(const ReadMemory& read, const IsStatement& isStatement, uint64_t address);

}  // namespace polytop
