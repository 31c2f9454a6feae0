// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "elf/elf_image.h"
#include "symbols/symbol_table.h"

namespace polytop {

/**
 * Adds the functions of a Go program to `into`, from the table that its runtime needs itself (.gopclntab):
 * stripping leaves it. Reads the form of Go 1.18 and later; adds nothing where there is no such table, or
 * where it cannot be told where its code begins. Returns where in `file` the names are.
 */
NamePlace readGoFunctions(const ElfImage& file, const CodeRanges& code, std::vector<SymbolEntry>& into);

}  // namespace polytop
