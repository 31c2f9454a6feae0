// SPDX-License-Identifier: Apache-2.0
#include "unwind/untold_epilogs.h"

#include <algorithm>
#include <vector>

#include "bpf/rule_bits.h"

namespace polytop {

namespace {

/// Whether a rule tells where a frame lies, so that an epilog can make it wrong.
bool hasFrame(const unwind_rule& rule) { return rule.cfa == CFA_SP || rule.cfa == CFA_FP; }

}  // namespace

void markUntoldEpilogs(const ElfImage& image, UnwindTable& table, RuleSet& rules) {
  const Section* code = image.section("__managedcode");
  if (!code || table.pages.empty()) return;
  const uint64_t begin = code->offset, end = code->offset + code->size;
  const std::vector<unwind_rule> known = rules.all();
  FileRules fileRules(rules, table.lease);
  const auto first = std::lower_bound(table.pages.begin(), table.pages.end(), begin >> ROW_OFFSET_BITS,
                                      [](const PageRows& page, uint64_t number) { return page.page < number; });
  for (auto page = first; page != table.pages.end() && page->page <= end >> ROW_OFFSET_BITS; page++) {
    for (uint32_t i = page->first; i < page->first + page->count; i++) {
      uint32_t& row = table.rows[i];
      const uint32_t inPage = row & ROW_OFFSET_MASK;
      const uint64_t offset = static_cast<uint64_t>(page->page) << ROW_OFFSET_BITS | inPage;
      unwind_rule rule = known[row >> ROW_OFFSET_BITS];
      if (offset < begin || offset >= end || !hasFrame(rule)) continue;
      rule.ra_register |= EPILOGS_UNTOLD;
      row = fileRules.intern(rule) << ROW_OFFSET_BITS | inPage;
    }
  }
  table.isLimited |= fileRules.overflowed();
}

}  // namespace polytop
