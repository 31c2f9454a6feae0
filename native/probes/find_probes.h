// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "elf/elf_image.h"
#include "probes/probe_list.h"

namespace polytop {

/// The functions with a symbol in a file: .symtab, else that of its separate debug file (null: none), else
/// .gnu_debugdata; and .dynsym. `isWritten`: also as people write them. Throws Overspent.
FunctionList findFunctions(const ElfImage& image, const ElfImage* debug, bool isWritten);

/// The static probes of a file. Throws Overspent.
std::vector<StaticProbe> findStaticProbes(const ElfImage& image);

}  // namespace polytop
