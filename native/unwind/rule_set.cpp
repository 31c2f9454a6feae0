// SPDX-License-Identifier: Apache-2.0
#include "unwind/rule_set.h"

#include <algorithm>
#include <cstring>

#include "util/fair_share.h"
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
  holders_.reserve(MAX_RULES);
  // In the order of the fixed indexes of the header. The set holds them itself.
  for (const uint8_t kind : {CFA_NONE, CFA_UNSUPPORTED, CFA_END}) {
    unwind_rule rule{};
    rule.cfa = kind;
    take(rule, true);
  }
}

RuleSet::Taken RuleSet::take(const unwind_rule& rule, bool mayAdd, uint32_t owner) {
  const std::lock_guard lock(mutex_);
  const auto found = indexes_.find(rule);
  if (found == indexes_.end() && (!mayAdd || freeIndexes() == 0)) return {kUnsupportedRule, false};
  const bool isNew = found == indexes_.end();
  const uint32_t index = isNew ? add(rule) : found->second;
  holders_[index]++;
  if (isNew && owner != 0) added_[owner]++;
  return {index, isNew};
}

uint32_t RuleSet::add(const unwind_rule& rule) {
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(rules_.size()));
    rules_.emplace_back();
    holders_.push_back(0);
  }
  const uint32_t index = free_.back();
  free_.pop_back();
  rules_[index] = rule;
  indexes_.emplace(rule, index);
  changed_.push_back(index);
  return index;
}

void RuleSet::release(const std::vector<uint32_t>& indexes, uint32_t owner, uint32_t added) {
  const std::lock_guard lock(mutex_);
  if (owner != 0 && added > 0 && (added_[owner] -= added) == 0) added_.erase(owner);
  for (const uint32_t index : indexes) {
    if (--holders_[index] > 0) continue;
    indexes_.erase(rules_[index]);
    free_.push_back(index);
  }
}

uint32_t RuleSet::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<uint32_t>(rules_.size());
}

uint32_t RuleSet::room() const {
  const std::lock_guard lock(mutex_);
  return freeIndexes();
}

uint32_t RuleSet::roomOf(uint32_t owner) const {
  const std::lock_guard lock(mutex_);
  const auto found = added_.find(owner);
  return static_cast<uint32_t>(roomOfUser(owner, found == added_.end() ? 0 : found->second, freeIndexes()));
}

std::vector<unwind_rule> RuleSet::all() const {
  const std::lock_guard lock(mutex_);
  return rules_;
}

std::vector<RuleSet::Change> RuleSet::takeChanges() {
  const std::lock_guard lock(mutex_);
  std::vector<Change> changes;
  for (const uint32_t index : changed_) changes.push_back({index, rules_[index]});
  changed_.clear();
  return changes;
}

FileRules::FileRules(RuleSet& rules, RuleLease& lease, uint32_t owner)
    : rules_(rules),
      lease_(lease),
      held_(MAX_RULES),
      mayAdd_(std::min(rules.roomOf(owner), std::clamp(rules.room() / kShare, kMinNewRules, kMaxNewRules))),
      slots_(kSlots) {
  // Empty slots must not look like a rule: CFA_NONE at index 0 is what zeroed memory says, rightly.
  lease_.rules_ = &rules;
  lease_.owner_ = owner;
  for (const uint32_t index : lease_.indexes_) held_[index] = true;
}

uint32_t FileRules::intern(const unwind_rule& rule) {
  Slot& slot = slots_[hashRule(rule) % kSlots];
  if (sameRule(slot.rule, rule)) return slot.index;
  const auto [index, isNew] = rules_.take(rule, mayAdd_ > 0, lease_.owner_);
  if (isNew) {
    mayAdd_--;
    lease_.added_++;
  }
  slot = {rule, index};
  if (index == kUnsupportedRule && rule.cfa != CFA_UNSUPPORTED) {
    overflowed_ = true;
  } else if (held_[index]) {
    rules_.release({index});
  } else {
    lease_.indexes_.push_back(index);
    held_[index] = true;
  }
  return index;
}

}  // namespace polytop
