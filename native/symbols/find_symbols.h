// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "elf/elf_image.h"
#include "symbols/symbol_list.h"

namespace polytop {

/**
 * The function symbols of a file: .symtab, else that of its separate debug file, else .gnu_debugdata, else .gopclntab;
 * and .dynsym. `debug`: null where there is none, or where it is not known yet. Throws Overspent where reading them
 * takes too much.
 */
SymbolList findSymbols(const ElfImage& image, const ElfImage* debug);

}  // namespace polytop
