// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>

namespace polytop {

/// Divides places among users, so that the files of one cannot take them all: whoever is not root has a quarter of what
/// is free beside what that user holds. Ten users who take all that they may leave places to an eleventh.
class FairShare {
 public:
  explicit FairShare(uint32_t places) : free_(places) {}

  /// Takes a place for the owner of a file. False if none is left for that user.
  bool take(uint32_t owner) {
    uint32_t& held = held_[owner];
    if (free_ == 0 || (owner != 0 && held >= (held + free_ + 3) / 4)) return false;
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
