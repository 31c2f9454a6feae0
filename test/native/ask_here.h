// SPDX-License-Identifier: Apache-2.0
// What a parser is asked, answered in this process: for tests of both sides without a program between them.
#pragma once

#include <optional>

#include "naming/read_symbols.h"
#include "parser/program/answer.h"

namespace polytop {

inline std::vector<uint8_t> askHere(ParseTask task, const std::vector<int>& files, std::span<const uint8_t> given) {
  return answerRequest(task, files, given);
}

/// The function at an offset with its name, which is read if need be.
inline std::optional<Symbol> findNamed(const AskParser& ask, SymbolIndex& index, int fd, uint64_t offset,
                                       uint64_t functionStart) {
  std::optional<Symbol> found = index.find(offset, functionStart);
  while (index.isWanting()) {
    const WantedNames wanted = index.takeWanted();
    index.take(wanted.functions, readNames(ask, index.sourcesOf(fd), wanted.request));
    found = index.find(offset, functionStart);
  }
  return found;
}

}  // namespace polytop
