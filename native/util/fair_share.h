// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace polytop {

/// How much more the files of a user may take, so that they cannot take all: whoever is not root has a quarter of what
/// is free beside what that user holds. Ten users who take all that they may leave some to an eleventh.
constexpr size_t roomOfUser(uint32_t user, size_t held, size_t free) {
  constexpr size_t kShare = 4;
  if (user == 0) return free;
  const size_t most = (held + free + kShare - 1) / kShare;
  return std::min(free, most - std::min(most, held));
}

/// Divides places among users by roomOfUser().
class FairShare {
 public:
  explicit FairShare(size_t places) : free_(places) {}

  /// Takes places for the owner of a file. False if there are not so many left for that user.
  bool take(uint32_t owner, size_t count = 1) {
    const auto held = held_.find(owner);
    if (count > roomOfUser(owner, held == held_.end() ? 0 : held->second, free_)) return false;
    if (count > 0) held_[owner] += count;
    free_ -= count;
    return true;
  }

  void giveBack(uint32_t owner, size_t count = 1) {
    const auto held = held_.find(owner);
    if (held != held_.end() && (held->second -= count) == 0) held_.erase(held);
    free_ += count;
  }

 private:
  size_t free_;
  std::unordered_map<uint32_t, size_t> held_;  ///< by user
};

}  // namespace polytop
