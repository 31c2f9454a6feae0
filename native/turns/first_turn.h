// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <thread>
#include <utility>

#include "turns/priority.h"

namespace polytop {

/**
 * Lets the calling thread run before all threads that have no real-time priority, until it has run for a third of a
 * second; then it is one of many again, with the nice value that it has. It is called anew before each wait for work.
 *
 * A nice value counts among the threads of one session (sched(7), "The autogroup feature") or control group alone: with
 * many others at work, each in a session of its own, a thread with -15 waits for seconds. Without CAP_SYS_NICE, and
 * where a control group has no real-time budget, nothing happens.
 */
void comeFirst();

/// Does that before the threads that call comeFirst() too: for those that all others of polytop work for.
void comeBeforeHelpers();

/// Ends the turn of the calling thread: it is one of many again.
void stepBack();

/// Lets another thread of the process come first until it ends, which is to be soon: somebody waits for that.
void bringForward(pid_t thread);

/// Lets all threads of the process come first, without an end: those of a program that has nothing left to do but to
/// end, which waits for each of them.
void endFirst();

/// As long as it exists, a process or thread that the calling thread starts has a turn as a helper, if that thread has
/// one, so that it is there soon. That has no end by itself: whoever starts it sees to that.
class StartsFirst {
 public:
  StartsFirst();
  ~StartsFirst();
  StartsFirst(const StartsFirst&) = delete;
  StartsFirst& operator=(const StartsFirst&) = delete;

 private:
  bool isFirst_;
  int priority_;
};

/// Starts a thread that comes first from its start: one that only calls comeFirst() waits in line before it can.
template <typename Work>
std::thread startFirst(Work work) {
  const StartsFirst startsFirst;
  return std::thread([work = std::move(work)]() mutable {
    raisePriority();
    comeFirst();
    work();
  });
}

}  // namespace polytop
