// SPDX-License-Identifier: Apache-2.0
#include "unwind/sound_table.h"

#include "arch/arch.h"
#include "bpf/rule_bits.h"

namespace polytop {

bool isSoundTable(const UnwindTable& table, uint32_t ruleCount) {
  uint64_t next = 0;
  for (size_t i = 0; i < table.pages.size(); i++) {
    const PageRows& page = table.pages[i];
    if (i > 0 && page.page <= table.pages[i - 1].page) return false;
    if (page.first != next || page.count == 0 || page.first + page.count > table.rows.size()) return false;
    if ((table.rows[page.first] & ROW_OFFSET_MASK) != 0) return false;
    for (uint32_t row = page.first; row < page.first + page.count; row++) {
      if (table.rows[row] >> ROW_OFFSET_BITS >= ruleCount) return false;
      if (row > page.first && (table.rows[row] & ROW_OFFSET_MASK) <= (table.rows[row - 1] & ROW_OFFSET_MASK))
        return false;
    }
    next += page.count;
  }
  if (next != table.rows.size() || table.pages.size() > MAX_PAGES) return false;
  for (size_t i = 1; i < table.starts.size(); i++) {
    if (table.starts[i] <= table.starts[i - 1]) return false;
  }
  return true;
}

bool isSoundRule(const unwind_rule& rule) {
  // The return address has the highest DWARF number that a rule may name.
  return rule.cfa <= CFA_ELSEWHERE && rule.fp <= FP_UNDEFINED &&
         (rule.cfa != CFA_REGISTER || rule.cfa_register <= arch::kReturnAddress) &&
         (rule.ra_register & ~EPILOGS_UNTOLD) <= arch::kReturnAddress + 1;
}

}  // namespace polytop
