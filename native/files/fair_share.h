// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace polytop {

/// How much a user may hold of what is to be divided, if that is not root: a quarter of what is free beside what that
/// user holds. Ten users who take all that they may leave some to an eleventh.
constexpr size_t shareOf(size_t held, size_t free) { return (held + free + 3) / 4; }

/// Divides places among users, so that the files of one cannot take them all.
class FairShare {
 public:
  explicit FairShare(size_t places) : free_(places) {}

  /// Takes places for the owner of a file. False if there are not so many left for that user.
  bool take(uint32_t owner, size_t count = 1) {
    const size_t held = heldBy(owner);
    if (free_ < count || (owner != 0 && held + count > shareOf(held, free_))) return false;
    if (count > 0) held_[owner] += count;
    free_ -= count;
    return true;
  }

  void giveBack(uint32_t owner, size_t count = 1) {
    const auto held = held_.find(owner);
    if (held != held_.end() && (held->second -= count) == 0) held_.erase(held);
    free_ += count;
  }

  size_t heldBy(uint32_t owner) const {
    const auto held = held_.find(owner);
    return held == held_.end() ? 0 : held->second;
  }

 private:
  size_t free_;
  std::unordered_map<uint32_t, size_t> held_;  ///< by user
};

}  // namespace polytop
