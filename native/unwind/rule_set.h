// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

// abi.h is C first; C++ spells its assertions differently.
#ifndef _Static_assert
#define _Static_assert static_assert
#endif
#include "bpf/abi.h"

namespace polytop {

/// Index of the rule of code that no unwind information covers (CFA_NONE).
constexpr uint32_t kNoRule = 0;
/// Index of the rule of code whose unwind information cannot be followed (CFA_UNSUPPORTED).
constexpr uint32_t kUnsupportedRule = 1;
/// Index of the rule of the outermost frame (CFA_END).
constexpr uint32_t kEndRule = 2;

/**
 * Interns unwind rules: equal rules of all files share one index below MAX_RULES.
 * Thread-safe. Rules are never changed or removed, so that an index stays good.
 */
class RuleSet {
 public:
  RuleSet();

  /// The index of `rule`. Fields that its kinds do not use must be 0, else equal rules get
  /// several indexes. When the set is full: kUnsupportedRule for a rule not yet in it.
  uint32_t intern(const unwind_rule& rule);

  /// How many rules there are; indexes [0, size()) are in use.
  uint32_t size() const;

  /// Copies of the rules [from, to), cut at size(). A loader keeps the `to` of its last call and
  /// writes what is new before it publishes rows that may refer to it.
  std::vector<unwind_rule> read(uint32_t from, uint32_t to) const;

  /// How often a rule was refused because the set was full.
  uint64_t refused() const;

 private:
  struct Hash {
    size_t operator()(const unwind_rule& rule) const;
  };
  struct Equal {
    bool operator()(const unwind_rule& left, const unwind_rule& right) const;
  };

  mutable std::mutex mutex_;
  std::vector<unwind_rule> rules_;
  std::unordered_map<unwind_rule, uint32_t, Hash, Equal> indexes_;
  uint64_t refused_ = 0;
};

/// A hash of all bytes of a rule.
uint64_t hashRule(const unwind_rule& rule);
/// Whether all bytes of two rules are equal.
bool sameRule(const unwind_rule& left, const unwind_rule& right);

/**
 * The rules of one file in front of the shared set: most rows repeat one of the last few
 * hundred rules, and those need no lock. Also limits how many rules one file may add, since a
 * file made for it could otherwise use up the indexes of all others. Not thread-safe.
 */
class FileRules {
 public:
  explicit FileRules(RuleSet& rules);

  /// Like RuleSet::intern; kUnsupportedRule for further rules of a file that has too many.
  uint32_t intern(const unwind_rule& rule);
  /// Whether a rule was refused because the file has too many.
  bool overflowed() const { return overflowed_; }

 private:
  // The most seen in one file is 654 (a C++ compiler).
  static constexpr uint32_t kMaxNewRules = 2048;
  static constexpr uint32_t kSlots = 1024;
  struct Slot {
    unwind_rule rule;
    uint32_t index;
  };

  RuleSet& rules_;
  uint32_t known_;
  bool overflowed_ = false;
  uint32_t added_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace polytop
