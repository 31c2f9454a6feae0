// SPDX-License-Identifier: Apache-2.0
#include "go/go_functions.h"

#include <algorithm>

#include "go/go_table.h"

namespace polytop {

StringTable readGoFunctions(const ElfImage& file, int fd, const CodeRanges& code, std::vector<SymbolEntry>& into) {
  const GoTable table(file);
  if (!table.valid()) return {};
  for (uint32_t i = 0; i < table.size(); i++) {
    GoTable::Function function = {};
    uint32_t end = 0, offset = 0;
    if (!table.function(i, function, end) || function.name >= SymbolEntry::kDynamic) continue;
    if (!code.toOffset(table.start() + function.entry, offset)) continue;
    const uint32_t size = std::min(end - function.entry, SymbolEntry::kMaxSize);
    into.push_back({.start = offset, .bindingAndSize = size, .name = function.name});
  }
  if (fd < 0) return StringTable(file.read(table.namesOffset(), table.namesSize()));
  return {fd, table.namesOffset(), table.namesSize()};
}

}  // namespace polytop
