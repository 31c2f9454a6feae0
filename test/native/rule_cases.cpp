// SPDX-License-Identifier: Apache-2.0
//
// The rules that all files share: who holds them, and who may add some. Exits with 1 if a check failed.
#include "check.h"
#include "unwind/rule_set.h"

namespace {

using namespace polytop;

unwind_rule ruleOf(int cfa, int offset) {
  unwind_rule rule{};
  rule.cfa = static_cast<uint8_t>(cfa);
  rule.cfa_offset = offset;
  rule.ra_offset = -8;
  return rule;
}

unwind_rule numberedRule(int number) { return ruleOf(CFA_SP, 16 + number); }

void testRules() {
  RuleSet rules;
  const unwind_rule plain = ruleOf(CFA_FP, 8);
  check(rules.size() == 3 && rules.all()[0].cfa == CFA_NONE, "rule 0 covers nothing");
  check(rules.all()[kUnsupportedRule].cfa == CFA_UNSUPPORTED, "fixed index of the unsupported rule");
  check(rules.all()[kEndRule].cfa == CFA_END, "fixed index of the end rule");
  const uint32_t first = rules.take(plain, true).index;
  check(rules.take(plain, true).index == first && rules.size() == 4, "equal rules share an index");
  check(rules.take(numberedRule(0), false).index == kUnsupportedRule, "a new rule that may not be added");
  for (int i = 0; i < MAX_RULES; i++) rules.take(numberedRule(i), true);
  check(rules.size() == MAX_RULES && rules.room() == 0, "full");
  check(rules.take(ruleOf(CFA_FP, 1), true).index == kUnsupportedRule, "a new rule when full");
  check(rules.take(plain, true).index == first, "a known rule when full");
  check(rules.takeChanges().size() == MAX_RULES && rules.takeChanges().empty(), "changes are told once");
}

/// Many files made for it do not take the rules from others, and what they took comes back.
void testSharedRules() {
  RuleSet rules;
  {
    std::vector<RuleLease> hogs(200);
    int number = 0;
    for (size_t i = 0; i < hogs.size(); i++) {
      FileRules file(rules, hogs[i], static_cast<uint32_t>(1000 + i % 10));
      for (int rule = 0; rule < 9000; rule++) file.intern(numberedRule(number++));
      check(file.overflowed() && hogs[i].size() <= 2048, "a file with too many rules is limited");
    }
    for (const uint32_t owner : {0u, 2000u}) {
      RuleLease lease;
      FileRules honest(rules, lease, owner);
      for (int i = 0; i < 120; i++) honest.intern(ruleOf(CFA_FP, static_cast<int>(16 + 8 * (1000 * owner + i))));
      check(!honest.overflowed() && lease.size() == 120, "beside all files of ten users others have their rules");
    }
    check(rules.roomOf(1000) < 128 && rules.roomOf(2000) >= 128, "who has taken most has least room");
    rules.takeChanges();
  }
  check(rules.roomOf(1000) == rules.roomOf(2000), "what a user's files took comes back");
  check(rules.room() == MAX_RULES - 3, "rules go with their files");
  RuleLease lease;
  FileRules file(rules, lease);
  const uint32_t again = file.intern(ruleOf(CFA_FP, 8));
  check(again != kUnsupportedRule && rules.takeChanges().size() == 1, "an index is used again, and told again");
}

}  // namespace

int main() {
  testRules();
  testSharedRules();
  return reportChecks();
}
