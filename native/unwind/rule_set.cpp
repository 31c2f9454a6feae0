// SPDX-License-Identifier: Apache-2.0
#include "unwind/rule_set.h"

#include <algorithm>
#include <cstring>

#include "util/hash.h"

namespace polytop {

uint64_t hashRule(const unwind_rule& rule) {
  uint64_t words[2];
  static_assert(sizeof words == sizeof rule);
  std::memcpy(words, &rule, sizeof words);
  return mix(mix(0, words[0]), words[1]);
}

bool sameRule(const unwind_rule& left, const unwind_rule& right) {
  return std::memcmp(&left, &right, sizeof left) == 0;
}

size_t RuleSet::Hash::operator()(const unwind_rule& rule) const { return hashRule(rule); }

bool RuleSet::Equal::operator()(const unwind_rule& left, const unwind_rule& right) const {
  return sameRule(left, right);
}

RuleSet::RuleSet() {
  rules_.reserve(MAX_RULES);
  // In the order of the fixed indexes of the header.
  for (const uint8_t kind : {CFA_NONE, CFA_UNSUPPORTED, CFA_END}) {
    unwind_rule rule{};
    rule.cfa = kind;
    intern(rule);
  }
}

uint32_t RuleSet::intern(const unwind_rule& rule) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = indexes_.find(rule);
  if (found != indexes_.end()) return found->second;
  if (rules_.size() >= MAX_RULES) {
    refused_++;
    return kUnsupportedRule;
  }
  const uint32_t index = static_cast<uint32_t>(rules_.size());
  rules_.push_back(rule);
  indexes_.emplace(rule, index);
  return index;
}

uint32_t RuleSet::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<uint32_t>(rules_.size());
}

std::vector<unwind_rule> RuleSet::read(uint32_t from, uint32_t to) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  to = std::min<uint32_t>(to, static_cast<uint32_t>(rules_.size()));
  if (from >= to) return {};
  return {rules_.begin() + from, rules_.begin() + to};
}

uint64_t RuleSet::refused() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return refused_;
}

FileRules::FileRules(RuleSet& rules) : rules_(rules), known_(rules.size()), slots_(kSlots) {
  // Empty slots must not look like a rule: CFA_NONE at index 0 is what zeroed memory says, rightly.
}

uint32_t FileRules::intern(const unwind_rule& rule) {
  Slot& slot = slots_[hashRule(rule) % kSlots];
  if (sameRule(slot.rule, rule)) return slot.index;
  if (added_ >= kMaxNewRules) {
    overflowed_ = true;
    return kUnsupportedRule;
  }
  const uint32_t index = rules_.intern(rule);
  // Other threads add rules too; one counted twice does no harm.
  if (index >= known_) {
    added_++;
    known_ = index + 1;
  }
  slot = {rule, index};
  return index;
}

}  // namespace polytop
