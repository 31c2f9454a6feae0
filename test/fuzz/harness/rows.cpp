// SPDX-License-Identifier: Apache-2.0
//
// Unwind rows of an ELF file made of parts: .eh_frame, its header, .debug_frame, Go's own table, instructions.
#include "../../native/table_search.h"
#include "code/code_rows.h"
#include "harness.h"
#include "parts.h"
#include "unwind/sound_table.h"
#include "unwind/unwind_table.h"
#include "util/budget.h"

namespace polytop::fuzz {

void tryRows(Input input) {
  const std::vector<uint8_t> file = makeElf(input);
  std::string error;
  const auto image = ElfImage::openMemory(file.data(), file.size(), error);
  mustHold(image != nullptr, "a made file is an ELF file");
  RuleSet rules;
  try {
    UnwindTable table = buildUnwindTable(*image, rules);
    addCodeRows(*image, table, rules);
    mustHold(isSoundTable(table, rules.size()), "the table is sound");
    mustHold(table.source.empty() == (table.fdeCount == 0), "a table has a source");
    for (const unwind_rule& rule : rules.all()) mustHold(isSoundRule(rule), "its rules are sound");
    for (uint64_t offset = 0; offset < file.size(); offset += 61) {
      mustHold(startAt(table, offset).value_or(0) <= offset, "a function starts before its code");
      mustHold(ruleAt(table, offset) < rules.size(), "a rule is one of the set");
    }
  } catch (const Overspent&) {
    // A file that takes too much is refused.
  }
}

}  // namespace polytop::fuzz
