// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "elf/elf_image.h"
#include "parser/finder.h"
#include "unwind/unwind_table.h"

namespace polytop {

/// What a parser found in a file.
struct ParsedFile {
  bool isElf = false;
  bool hasCode = false;       ///< it has code to unwind, by `table` where that has rows
  std::string why;            ///< what is wrong with the file, empty if nothing is
  std::vector<Segment> code;  ///< its executable PT_LOAD segments
  UnwindTable table;
  RuntimeFacts runtime;
};

/// The same as bytes, for another process or a later run: `rules` are those that its table refers to.
std::vector<uint8_t> encodeParsed(const ParsedFile& file, const RuleSet& rules);

/// The file of such bytes, the rules of its table entered into `rules` for its owner, a user. False where they are not
/// what encodeParsed() writes, in whatever way; nothing in them is trusted. What is known of the runtime is for its
/// probe to check.
bool decodeParsed(std::span<const uint8_t> bytes, RuleSet& rules, uint32_t owner, ParsedFile& file);

}  // namespace polytop
