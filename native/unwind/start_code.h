// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "elf/elf_image.h"
#include "unwind/unwind_table.h"

namespace polytop {

/**
 * Gives rules to code that every program and library begins and ends with, and that comes without unwind information:
 * .init and .fini of the C library's crti.o and crtn.o, and the first destructor, of the compiler's crtbegin.o. Each is
 * met by its instructions; what looks otherwise is left as it is. So are linkage tables without entries, and code of
 * the vDSO.
 */
void coverStartCode(const ElfImage& image, UnwindTable& table, RuleSet& rules);

}  // namespace polytop
