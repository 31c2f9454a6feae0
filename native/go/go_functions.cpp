// SPDX-License-Identifier: Apache-2.0
#include "go/go_functions.h"

#include <algorithm>

#include "go/go_table.h"

namespace polytop {

NamePlace readGoFunctions(const ElfImage& file, const CodeRanges& code, std::vector<SymbolEntry>& into) {
  const GoTable table(file);
  if (!table.valid()) return {};
  const uint64_t namesSize = std::min<uint64_t>(table.namesSize(), SymbolEntry::kNameMask);
  for (uint32_t i = 0; i < table.size(); i++) {
    GoTable::Function function = {};
    uint32_t end = 0, offset = 0;
    if (!table.function(i, function, end) || function.name >= namesSize) continue;
    if (!code.toOffset(table.start() + function.entry, offset)) continue;
    const uint32_t size = std::min(end - function.entry, SymbolEntry::kMaxSize);
    into.push_back({.start = offset, .bindingAndSize = size, .name = function.name});
  }
  return {.offset = table.namesOffset(), .size = namesSize};
}

}  // namespace polytop
