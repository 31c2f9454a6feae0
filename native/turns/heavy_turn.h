// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <list>

#include "turns/mutex.h"

namespace polytop {

/**
 * Lets one do at a time what takes much memory, whoever asks for it: one after the other, but root's before that of
 * other users, which is interrupted for it. Any thread may call it.
 */
class HeavyTurn {
 public:
  /// The one of this process.
  static HeavyTurn& only();

  /// Has those that wait look whether they are interrupted.
  void wake();

  /// As long as it exists, it is somebody's turn. Making it waits for that.
  class Holder {
   public:
    /// `interrupted` is set where somebody else comes first, and must live as long. Where it is set before the turn
    /// comes, that is not waited for any more: hasTurn().
    Holder(HeavyTurn& turn, uint32_t user, std::atomic<bool>& interrupted);
    ~Holder();
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    bool hasTurn() const { return hasTurn_; }

   private:
    HeavyTurn& turn_;
    bool hasTurn_ = false;
  };

 private:
  Mutex mutex_;  ///< guards all that follows
  Condition wake_;
  std::list<uint64_t> ofRoot_, ofUsers_;  ///< tickets of those that wait, in their order
  uint64_t nextTicket_ = 0;
  bool isTaken_ = false;
  std::atomic<bool>* interruptUser_ = nullptr;  ///< of who has the turn, unless that is root
};

}  // namespace polytop
