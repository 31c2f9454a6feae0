// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bpf/abi.h"
#include "elf/elf_image.h"

namespace polytop {

/// A .NET runtime (CoreCLR) in an ELF file: libcoreclr.so or the program of a single-file publish.
struct DotnetRuntime {
  uint32_t major = 0;       ///< version: 8, 9, 10, …; 1000 if it cannot be told
  uint64_t descriptor = 0;  ///< address of the contract descriptor in the file's headers, 0 if there is none
  dotnet_facts facts = {};  ///< for the kernel side; managed_start is not set
  std::string error;        ///< why this runtime's code cannot be unwound, empty if it can
};

/**
 * Looks for a .NET runtime: an image that exports `g_dacTable`, whatever its name is. Its version is read from the
 * version text of the image, else from `DotNetRuntimeInfo`, else told by its contract descriptor; where these differ it
 * is refused. Layouts come from the descriptor where it has them, else from the table of the version (8 to 11). A
 * version that is later than those must describe all that is read. Returns nothing if there is no runtime in the file.
 */
std::optional<DotnetRuntime> findDotnetRuntime(const ElfImage& image);

}  // namespace polytop
