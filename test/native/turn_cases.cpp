// SPDX-License-Identifier: Apache-2.0
//
// A thread that comes before others, and that what it runs for in front of them has an end, where it may raise its
// priority; whose turn it is to take much memory; who holds a lock that others wait for. Exits with 1 if a check
// failed.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "turns/first_turn.h"
#include "turns/heavy_turn.h"
#include "turns/mutex.h"
#include "util/clock.h"

namespace {

using namespace polytop;

constexpr uint64_t kMillisecond = 1'000'000;

void burn(uint64_t nanoseconds) {
  const uint64_t end = clockNanoseconds(CLOCK_THREAD_CPUTIME_ID) + nanoseconds;
  while (clockNanoseconds(CLOCK_THREAD_CPUTIME_ID) < end) continue;
}

bool isFirst() { return (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_RR; }

/// The priority that the kernel gives this thread by now: proc_pid_stat(5). 0 where it is one of all others.
int realTimePriority() {
  std::string line;
  std::getline(std::ifstream("/proc/thread-self/stat"), line);
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string field;
  constexpr int kPriority = 16;
  for (int i = 0; i < kPriority; i++) fields >> field;
  return std::max(0, -std::stoi(field) - 1);
}

/// What a process that this thread starts exits with: what `work` returns there.
template <typename Work>
int exitOfChild(Work work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

/// The policy of a process that this thread starts.
int policyOfChild() {
  return exitOfChild([] { return sched_getscheduler(0); });
}

/// Whether the turn of a process that this thread starts begins, and ends.
bool hasOwnTurn() {
  return exitOfChild([] {
           comeFirst();
           const bool hasBegun = isFirst();
           burn(400 * kMillisecond);
           return hasBegun && !isFirst() ? 1 : 0;
         }) == 1;
}

/// Who holds a lock runs as early as who waits for it.
void testLock() {
  const sched_param none = {};
  sched_setscheduler(0, SCHED_OTHER, &none);
  check(realTimePriority() == 0, "a thread is one of all others");
  Mutex mutex;
  std::unique_lock lock(mutex);
  std::thread waiter([&] {
    comeFirst();
    const std::lock_guard waited(mutex);
  });
  bool isEarly = false;
  for (int look = 0; look < 100 && !isEarly; look++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    isEarly = realTimePriority() > 0;
  }
  lock.unlock();
  check(isEarly, "who holds a lock that the first waits for comes first too");
  check(realTimePriority() == 0, "and no longer");
  waiter.join();
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
  check(hasOwnTurn(), "a child that asks for it has one too");
  bool isOtherFirst = true;
  std::thread([&] { isOtherFirst = isFirst(); }).join();
  check(!isOtherFirst, "another thread asks for itself");
}

/// A thread that takes a turn and notes that, and what it was given.
std::thread take(HeavyTurn& turn, uint32_t user, char name, std::string& order, std::atomic<bool>& interrupted) {
  return std::thread([&turn, user, name, &order, &interrupted] {
    const HeavyTurn::Holder holder(turn, user, interrupted);
    order += holder.hasTurn() ? name : '-';
  });
}

void testHeavyTurn() {
  constexpr std::chrono::milliseconds kUntilItWaits{100};
  HeavyTurn turn;
  std::string order;
  std::atomic<bool> first = false, second = false, third = false, ofRoot = false;
  std::vector<std::thread> waiting;
  {
    const HeavyTurn::Holder holder(turn, 1000, first);
    check(holder.hasTurn(), "who comes first has the turn");
    waiting.push_back(take(turn, 1001, 'b', order, second));
    std::this_thread::sleep_for(kUntilItWaits);
    waiting.push_back(take(turn, 1000, 'c', order, third));
    std::this_thread::sleep_for(kUntilItWaits);
    check(!first, "users wait for each other");
    waiting.push_back(take(turn, 0, 'r', order, ofRoot));
    std::this_thread::sleep_for(kUntilItWaits);
    check(first && order.empty(), "root interrupts a user, and waits too");
  }
  for (std::thread& thread : waiting) thread.join();
  check(order == "rbc" && !second && !third, "root comes next, the others in their order");
  {
    const HeavyTurn::Holder holder(turn, 0, ofRoot);
    std::thread late = take(turn, 1001, 'd', order, second);
    std::this_thread::sleep_for(kUntilItWaits);
    second = true;
    turn.wake();
    late.join();
    check(order == "rbc-", "who is interrupted does not wait any more");
  }
}

void testRights() {
  testLock();
  testTurns();
}

bool mayComeFirst() {
  const sched_param lowest = {1};
  return sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest) == 0;
}

}  // namespace

int main() {
  if (mayComeFirst())
    testRights();
  else
    comeFirst();  // nothing happens
  testHeavyTurn();
  return reportChecks();
}
