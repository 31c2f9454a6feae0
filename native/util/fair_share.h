// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

namespace polytop {

/// How many further places the files of a user may take, so that they cannot take them all: whoever is not root has a
/// quarter of what is free beside what that user holds. Ten users who take all that they may leave places to an
/// eleventh.
constexpr uint32_t roomOfUser(uint32_t user, uint32_t held, uint32_t free) {
  constexpr uint32_t kShare = 4;
  if (user == 0) return free;
  const uint32_t most = (held + free + kShare - 1) / kShare;
  return most - std::min(most, held);
}

/// Divides places among users by roomOfUser().
class FairShare {
 public:
  explicit FairShare(uint32_t places) : free_(places) {}

  /// Takes a place for the owner of a file. False if none is left for that user.
  bool take(uint32_t owner) {
    uint32_t& held = held_[owner];
    if (roomOfUser(owner, held, free_) == 0) return false;
    held++;
    free_--;
    return true;
  }

  void giveBack(uint32_t owner) {
    if (--held_[owner] == 0) held_.erase(owner);
    free_++;
  }

 private:
  uint32_t free_;
  std::unordered_map<uint32_t, uint32_t> held_;  ///< by user
};

}  // namespace polytop
