// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpf/abi.h"
#include "turns/mutex.h"

namespace polytop {

/// Index of the rule of code that no unwind information covers (CFA_NONE).
constexpr uint32_t kNoRule = 0;
/// Index of the rule of code whose unwind information cannot be followed (CFA_UNSUPPORTED).
constexpr uint32_t kUnsupportedRule = 1;
/// Index of the rule of the outermost frame (CFA_END).
constexpr uint32_t kEndRule = 2;

/**
 * Unwind rules: equal rules of all files share one index below MAX_RULES. Each file holds the rules that its
 * rows refer to (RuleLease); the index of a rule that no file holds any more is given to another one.
 * Several threads may use it at once.
 */
class RuleSet {
 public:
  RuleSet();

  /// What take() says of a rule.
  struct Taken {
    uint32_t index;  ///< kUnsupportedRule where it was refused
    bool isNew;      ///< no file held it before
  };
  /// Holds a rule once more for a file of a user, if it is known or `mayAdd` and the set has room. Fields that its
  /// kinds do not use must be 0, else equal rules get several indexes.
  Taken take(const unwind_rule& rule, bool mayAdd, uint32_t owner = 0);
  /// Holds rules once less; a file of `owner` had added so many of them. No row that the walk may find refers to them.
  void release(const std::vector<uint32_t>& indexes, uint32_t owner = 0, uint32_t added = 0);

  /// How many indexes were given out; all that are held are below.
  uint32_t size() const;
  /// How many further rules there is room for.
  uint32_t room() const;
  /// How many further rules the files of a user may add, by roomOfUser().
  uint32_t roomOf(uint32_t owner) const;
  /// Copies of all rules by their indexes.
  std::vector<unwind_rule> all() const;

  struct Change {
    uint32_t index;
    unwind_rule rule;
  };
  /// The rules that were added since the last call. A loader writes them before it publishes rows that may refer to
  /// them.
  std::vector<Change> takeChanges();

 private:
  struct Hash {
    size_t operator()(const unwind_rule& rule) const;
  };
  struct Equal {
    bool operator()(const unwind_rule& left, const unwind_rule& right) const;
  };

  uint32_t add(const unwind_rule& rule);
  uint32_t freeIndexes() const { return static_cast<uint32_t>(MAX_RULES - rules_.size() + free_.size()); }

  mutable Mutex mutex_;
  std::vector<unwind_rule> rules_;
  std::vector<uint32_t> holders_;  ///< how many files hold each
  std::vector<uint32_t> free_;     ///< indexes that nobody holds
  std::vector<uint32_t> changed_;
  std::unordered_map<unwind_rule, uint32_t, Hash, Equal> indexes_;
  std::unordered_map<uint32_t, uint32_t> added_;  ///< rules that the files of each user brought, but root's
};

/// The rules that the rows of a file refer to, given back with it.
class RuleLease {
 public:
  RuleLease() = default;
  RuleLease(RuleLease&& other) noexcept { *this = std::move(other); }
  RuleLease& operator=(RuleLease&& other) noexcept {
    std::swap(rules_, other.rules_);
    std::swap(indexes_, other.indexes_);
    std::swap(owner_, other.owner_);
    std::swap(added_, other.added_);
    return *this;
  }
  ~RuleLease() {
    if (rules_ && !indexes_.empty()) rules_->release(indexes_, owner_, added_);
  }

  size_t size() const { return indexes_.size(); }

 private:
  friend class FileRules;
  RuleSet* rules_ = nullptr;
  std::vector<uint32_t> indexes_;
  uint32_t owner_ = 0;  ///< the user that the file belongs to
  uint32_t added_ = 0;  ///< how many of the rules no file held before
};

/// A hash of all bytes of a rule.
uint64_t hashRule(const unwind_rule& rule);
/// Whether all bytes of two rules are equal.
bool sameRule(const unwind_rule& left, const unwind_rule& right);

/**
 * The rules of one file in front of the shared set: most rows repeat one of the last few
 * hundred rules, and those need no lock. Also limits how many rules one file may add, since a
 * file made for it could otherwise use up the indexes of all others: an eighth of what is free, so that
 * many such files leave room too; and how many all files of one user may. Only one thread may use it at a time.
 */
class FileRules {
 public:
  /// What is held is put into `lease`, beside what it has already; `owner`: the user that the file belongs to.
  FileRules(RuleSet& rules, RuleLease& lease, uint32_t owner = 0);

  /// The index of a rule; kUnsupportedRule for further rules of a file that has too many, or where there is no room.
  uint32_t intern(const unwind_rule& rule);
  /// Whether a rule was refused because the file has too many.
  bool overflowed() const { return overflowed_; }

 private:
  // The most seen in one file is 1,027 (a formatter of 100 MB in Rust), with those that it shares with others.
  static constexpr uint32_t kMaxNewRules = 2048, kMinNewRules = 128, kShare = 8;
  static constexpr uint32_t kSlots = 1024;
  struct Slot {
    unwind_rule rule;
    uint32_t index;
  };

  RuleSet& rules_;
  RuleLease& lease_;
  std::vector<bool> held_;  ///< by index
  uint32_t mayAdd_;
  bool overflowed_ = false;
  std::vector<Slot> slots_;
};

}  // namespace polytop
