// SPDX-License-Identifier: Apache-2.0
//
// A table of an earlier run: what is taken for one is sound, and means the same when it is written and read again.
#include "cache/stored_table.h"
#include "harness.h"
#include "unwind/sound_table.h"

namespace polytop::fuzz {

void tryCache(Input input) {
  RuleSet rules;
  UnwindTable table;
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  if (!decodeTable(bytes, rules, 0, table)) return;
  mustHold(isSoundTable(table, rules.size()), "the table is sound");
  for (const unwind_rule& rule : rules.all()) mustHold(isSoundRule(rule), "its rules are sound");
  UnwindTable again;
  mustHold(decodeTable(encodeTable(table, rules), rules, 0, again), "what is written can be read");
  mustHold(again.rows == table.rows && again.starts == table.starts && again.pages.size() == table.pages.size(),
           "it is the same");
}

}  // namespace polytop::fuzz
