// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "elf/elf_image.h"

namespace polytop {

/// What a file says of those that were split off it, and which of some files is one of them.
struct DebugLinks {
  std::string buildId;   ///< in lower-case hex, empty if there is none
  std::string linkName;  ///< in .gnu_debuglink, a file name; empty if there is none
  /// One more than the index of the first candidate that belongs to the file, 0 if none does.
  uint32_t belongs = 0;
  // What the candidate holds, or the file itself where none belongs to it:
  bool hasLines = false;
  std::string otherId;  ///< build-id of the file that dwz moved what several have into; empty if there is none
};

/// A file of that kind, open.
struct DebugCandidate {
  int fd = -1;
  std::unique_ptr<ElfImage> image;  ///< null: it is no ELF file
};

/**
 * Reads the links of an image. A candidate belongs to it where the build-ids agree; one without must have the CRC
 * that the link says. Facts: "Debugging Information in Separate Files" of the GDB manual. Throws Overspent.
 */
DebugLinks readDebugLinks(const ElfImage& image, std::span<const DebugCandidate> candidates);

std::vector<uint8_t> encodeLinks(const DebugLinks& links);
/// Takes the links off bytes that nobody vouches for: the names are the names of files and nothing else. False where
/// these are anything else.
bool decodeLinks(std::span<const uint8_t> bytes, size_t candidates, DebugLinks& links);

}  // namespace polytop
