// SPDX-License-Identifier: Apache-2.0
#include "turns/heavy_turn.h"

namespace polytop {

HeavyTurn& HeavyTurn::only() {
  static HeavyTurn turn;
  return turn;
}

HeavyTurn::Holder::Holder(HeavyTurn& turn, uint32_t user, std::atomic<bool>& interrupted) : turn_(turn) {
  std::unique_lock lock(turn_.mutex_);
  const bool isRoot = user == 0;
  if (isRoot && turn_.interruptUser_) *turn_.interruptUser_ = true;
  std::list<uint64_t>& line = isRoot ? turn_.ofRoot_ : turn_.ofUsers_;
  const uint64_t ticket = turn_.nextTicket_++;
  line.push_back(ticket);
  turn_.wake_.wait(lock, [&] {
    hasTurn_ = !turn_.isTaken_ && line.front() == ticket && (isRoot || turn_.ofRoot_.empty());
    return hasTurn_ || interrupted;
  });
  line.remove(ticket);
  if (!hasTurn_) return;
  turn_.isTaken_ = true;
  turn_.interruptUser_ = isRoot ? nullptr : &interrupted;
}

HeavyTurn::Holder::~Holder() {
  if (hasTurn_) {
    const std::lock_guard lock(turn_.mutex_);
    turn_.isTaken_ = false;
    turn_.interruptUser_ = nullptr;
  }
  turn_.wake();
}

void HeavyTurn::wake() {
  // Whoever looked before the lock was free waits by now.
  {
    const std::lock_guard lock(mutex_);
  }
  wake_.notifyAll();
}

}  // namespace polytop
