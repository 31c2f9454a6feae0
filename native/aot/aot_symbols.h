// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "elf/elf_image.h"
#include "symbols/symbol_list.h"

namespace polytop {

/**
 * Gives the methods of a NativeAOT program the names that it has for them itself (readAotNames()): those of its symbols
 * are mangled, for which there is no way back. A method that it has no name for has that of its symbol, with its type
 * as other methods of that are called where nothing is in doubt. `debug`: where the list's names are, if not in the
 * file itself. Does nothing to other programs.
 */
void nameAotMethods(const ElfImage& image, const ElfImage* debug, SymbolList& list);

}  // namespace polytop
