// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "elf/elf_image.h"

namespace polytop {

/// Where the table of a Go program (see GoTable) is in its file.
struct GoPlace {
  uint64_t offset = 0;
  uint64_t size = 0;  ///< where no section says it, up to the end of its segment; 0: there is no table
  uint64_t address = 0;
};

/**
 * Finds the table by the name of its section. A program that the C linker made has none: there it begins with a word
 * that tells it, and the runtime's description of the program (moduledata) points to it.
 */
GoPlace findGoTable(const ElfImage& file);

/**
 * The address that all of a table's are relative to, as the loader writes it into the table's header (Go 1.18 to 1.25)
 * or the linker into the description of the program; 0 where neither is found. `first`: of the first function,
 * relative.
 */
uint64_t findGoCode(const ElfImage& file, const GoPlace& place, uint32_t first);

}  // namespace polytop
