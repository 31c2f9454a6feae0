// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "elf/elf_image.h"
#include "unwind/unwind_table.h"

namespace polytop {

/**
 * Says of the rows of managed code in a native program (NativeAOT of .NET 8 to 11, section `__managedcode`) that they
 * do not tell its epilogs: its entries of .eh_frame describe prologs alone, as Windows' unwind codes do. Does nothing
 * to other files.
 */
void markUntoldEpilogs(const ElfImage& image, UnwindTable& table, RuleSet& rules);

}  // namespace polytop
