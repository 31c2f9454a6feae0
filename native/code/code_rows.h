// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "elf/elf_image.h"
#include "unwind/unwind_table.h"

namespace polytop {

/**
 * Gives rules to code that has no unwind information (C libraries such as musl's, assembly, compilers that were told to
 * write none): made of the instructions of each function, as far as these are understood. What is not, stays without.
 * A file's code is read up to a limit of instructions and of bytes.
 */
void addCodeRows(const ElfImage& image, UnwindTable& table, RuleSet& rules);

}  // namespace polytop
