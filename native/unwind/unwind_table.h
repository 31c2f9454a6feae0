// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elf/elf_image.h"
#include "unwind/depth_walk.h"
#include "unwind/rule_set.h"

namespace polytop {

/// The rows of one 4 KB page of a file, `offset in page` ascending, the first at 0.
struct PageRows {
  uint32_t page = 0;   ///< file offset >> 12
  uint32_t first = 0;  ///< index of its first row in UnwindTable::rows
  uint32_t count = 0;
};

/// The unwind rows of one file in the form of bpf/abi.h.
struct UnwindTable {
  std::vector<uint32_t> rows;  ///< rule index << ROW_OFFSET_BITS | offset in page
  /// Ascending by page; a page without code that is covered may be missing.
  std::vector<PageRows> pages;
  /// Ascending file offsets where functions (FDEs) start, and where code without an FDE starts behind one:
  /// the last that is not above an offset is the start of the code that the offset belongs to.
  std::vector<uint64_t> starts;
  std::vector<RowDoubt> doubts;  ///< functions whose rows may be wrong, ascending
  uint64_t fdeCount = 0;         ///< how many entries, or functions of .gopclntab, were read
  /// ".eh_frame", "PT_GNU_EH_FRAME", ".debug_frame" or ".gopclntab", the first of them that has entries; empty: none
  /// found, no rows.
  std::string source;
  std::string warning;     ///< what was malformed and skipped, empty if nothing was
  RuleLease lease;         ///< holds the rules that the rows refer to
  bool isLimited = false;  ///< it has more rows or rules than a file may have
};

/**
 * Builds the rows of an ELF file from .eh_frame, else from what PT_GNU_EH_FRAME points to; for code that has none there
 * from .debug_frame (DWARF 5 section 6.4, LSB Core 10.6), else from Go's own table.
 * Malformed input is skipped, and `warning` says so. Throws Overspent where the file takes too much.
 * Takes up to about 0.4 ms for each 1000 FDEs: call it on a worker thread.
 */
UnwindTable buildUnwindTable(const ElfImage& image, RuleSet& rules);

/// Those of its starts where code without a rule begins: how many functions there are is not known.
std::vector<uint64_t> gapsOf(const UnwindTable& table);

/// The rule of a function whose frame pointer is its caller's frame pointer and return address in memory.
unwind_rule framePointerRule();

/**
 * Gives a rule to code at [begin, end) that no entry covers: what a finder knows of a function without unwind
 * information. Returns false, and leaves the table as it is, where a part of the code is covered or lies in another
 * page.
 */
bool coverHole(UnwindTable& table, uint64_t begin, uint64_t end, uint32_t rule);

/// The same for code that reaches over pages, of which some may have no rows at all: each that is a hole is covered.
void coverPages(UnwindTable& table, uint64_t begin, uint64_t end, uint32_t rule);

}  // namespace polytop
