// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../bpf/abi.h"
#include "elf_image.h"

namespace polytop {

/// Interns unwind rules: all files share them. Thread-safe.
/// Rule 0 is CFA_NONE. Rules are never removed.
class RuleSet;

/// The rows of one 4 KB page of a file, `offset in page` ascending, the first at 0.
struct PageRows {
  uint32_t page = 0;  ///< file offset >> 12
  uint32_t first = 0; ///< index of its first row in UnwindTable::rows
  uint32_t count = 0;
};

/// The unwind rows of one file in the form of bpf/abi.h.
struct UnwindTable {
  std::vector<uint32_t> rows;    ///< rule index << ROW_OFFSET_BITS | offset in page
  std::vector<PageRows> pages;   ///< ascending by page
  std::vector<uint64_t> starts;  ///< ascending file offsets where functions (FDEs) start
  uint64_t fdeCount = 0;
  std::string source;            ///< ".eh_frame", "PT_GNU_EH_FRAME" or ".debug_frame"; empty: none found
  std::string warning;           ///< what was malformed and skipped, empty if nothing was
};

/**
 * Builds the rows of an ELF file from .eh_frame, else from what PT_GNU_EH_FRAME
 * points to, else from .debug_frame (DWARF 5 section 6.4, LSB Core 10.6).
 * Never throws on malformed input: skips what is malformed and says so in `warning`.
 */
UnwindTable buildUnwindTable(const ElfImage& image, RuleSet& rules);

}  // namespace polytop
