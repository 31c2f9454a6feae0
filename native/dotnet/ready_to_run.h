// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "unwind/rule_set.h"
#include "unwind/unwind_table.h"

namespace polytop {

/**
 * The rows of the precompiled code of a .NET assembly: a PE file whose ready-to-run header lists its functions
 * with their unwind codes. Epilogs have no rows, and most prologs one for all of their instructions (CFA_PROLOG):
 * the kernel side goes by the bytes of both, which matter to the innermost frame alone.
 * Returns false with `error` set where the file is no such image; an assembly without precompiled code is one
 * without rows. Bytes are read with pread: another process may cut the file at any time.
 */
bool buildImageTable(int fd, RuleSet& rules, UnwindTable& table, std::string& error);

/// An assembly in a file.
struct PlacedAssembly {
  uint64_t offset = 0;
  uint64_t size = 0;
};

/**
 * Adds the rows of the assemblies in a single-file program, behind those of the program itself.
 * Returns where they are, ascending; none if it is no single-file program or its assemblies are compressed.
 */
std::vector<PlacedAssembly> addBundleRows(int fd, const ElfImage& image, RuleSet& rules, UnwindTable& table);

}  // namespace polytop
