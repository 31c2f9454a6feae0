// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "elf/elf_image.h"
#include "symbols/symbol_entry.h"
#include "symbols/symbol_table.h"

namespace polytop {

/// Adds the stubs of a program's procedure linkage tables (.plt, .plt.sec, .plt.got), which have no symbols of their
/// own, with the names of the functions that they lead to: those of .dynsym.
void addPltStubs(const ElfImage& image, const CodeRanges& code, uint64_t namesSize, std::vector<SymbolEntry>& into);

}  // namespace polytop
