// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "elf/elf_image.h"

namespace polytop {

/// Files that a program or a library says it needs. All words are its own: nothing says that there is such a file.
struct NeededFiles {
  std::string interpreter;             ///< the loader of a program; empty: it needs none
  std::vector<std::string> libraries;  ///< names or paths
  std::vector<std::string> folders;    ///< in which it wants them to be looked for first, with `$ORIGIN`
};

/// Reads them from the dynamic section. Facts: System V gABI, chapter 5, "Dynamic Linking".
NeededFiles readNeededFiles(const ElfImage& image);

// These write and read bytes that nobody vouches for: a reader returns false where they are anything else.

std::vector<uint8_t> encodeNeeded(const NeededFiles& needed);
bool decodeNeeded(std::span<const uint8_t> bytes, NeededFiles& needed);

}  // namespace polytop
