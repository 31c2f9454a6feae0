// SPDX-License-Identifier: Apache-2.0
//
// A thread that comes before others, and that what it runs for in front of them has an end. Exits with 1 if a check
// failed; does nothing where it may not raise its priority.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "check.h"
#include "turns/first_turn.h"
#include "util/clock.h"

namespace {

using namespace polytop;

constexpr uint64_t kMillisecond = 1'000'000;

void burn(uint64_t nanoseconds) {
  const uint64_t end = clockNanoseconds(CLOCK_THREAD_CPUTIME_ID) + nanoseconds;
  while (clockNanoseconds(CLOCK_THREAD_CPUTIME_ID) < end) continue;
}

bool isFirst() { return (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_RR; }

/// The policy of a process that this thread starts.
int policyOfChild() {
  const pid_t child = fork();
  if (child == 0) _exit(sched_getscheduler(0));
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

void testTurns() {
  comeFirst();
  check(isFirst(), "it comes first");
  check(policyOfChild() == SCHED_OTHER, "what it starts does not");
  {
    const StartsFirst startsFirst;
    check(policyOfChild() == SCHED_RR, "but where it is asked for");
  }
  check(policyOfChild() == SCHED_OTHER, "and no longer");
  burn(100 * kMillisecond);
  check(isFirst(), "it has a turn");
  burn(400 * kMillisecond);
  check(!isFirst(), "a turn has an end");
  comeFirst();
  check(isFirst(), "the next one begins anew");
  bool isOtherFirst = true;
  std::thread([&] { isOtherFirst = isFirst(); }).join();
  check(!isOtherFirst, "another thread asks for itself");
}

bool mayComeFirst() {
  const sched_param lowest = {1};
  return sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest) == 0;
}

}  // namespace

int main() {
  if (mayComeFirst())
    testTurns();
  else
    comeFirst();  // nothing happens
  return reportChecks();
}
