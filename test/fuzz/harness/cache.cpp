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
  if (!decodeTable(bytes, rules, table)) return;
  mustHold(isSoundTable(table, rules.size()), "the table is sound");
  for (const unwind_rule& rule : rules.all()) mustHold(isSoundRule(rule), "its rules are sound");
  UnwindTable again;
  mustHold(decodeTable(encodeTable(table, rules), rules, again), "what is written can be read");
  mustHold(again.rows == table.rows && again.starts == table.starts && again.pages.size() == table.pages.size(),
           "it is the same");
}

}  // namespace polytop::fuzz
