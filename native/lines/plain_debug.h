// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elf/elf_image.h"

namespace polytop {

/// Whether debug information is compressed as libdw 0.188 does not read it (zstd), or without checking its size
/// (.zdebug_).
bool needsUnpacking(const ElfImage& image);

/// An ELF file that holds the debug information of another one, not compressed, and nothing else; empty, with the
/// reason, where that cannot be read.
std::vector<uint8_t> plainDebugFile(const ElfImage& image, std::string& why);

}  // namespace polytop
