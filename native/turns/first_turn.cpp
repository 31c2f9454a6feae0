// SPDX-License-Identifier: Apache-2.0
#include "turns/first_turn.h"

#include <dirent.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>

namespace polytop {

namespace {

/// A refresh takes a tenth of that, and what others can make of one all of it; a machine of one CPU is not to be held
/// up for longer.
constexpr itimerspec kTurn = {{}, {0, 300'000'000}};
/// Nobody else in the process uses it.
const int kTurnEnds = SIGRTMIN + 4;
/// Priorities of real time: of threads that read for others, and of those.
constexpr int kHelper = 1, kHelped = 2;
/// What a thread starts is not to come first by itself.
constexpr int kOther = SCHED_OTHER | SCHED_RESET_ON_FORK, kFirst = SCHED_RR | SCHED_RESET_ON_FORK;

void setPolicy(int policy, int priority) {
  const sched_param given = {priority};
  sched_setscheduler(0, policy, &given);
}

void endTurn(int /*signal*/) {
  const int before = errno;
  stepBack();
  errno = before;
}

/// Has the thread that makes it get a signal when its turn is over. (The C library's timer_create() came to libc with
/// glibc 2.34.)
class TurnTimer {
 public:
  TurnTimer() {
    struct sigaction action = {};
    action.sa_handler = endTurn;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kTurnEnds;
    event._sigev_un._tid = thread_;
    isMade_ = sigaction(kTurnEnds, &action, nullptr) == 0 &&
              syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &timer_) == 0;
  }
  ~TurnTimer() {
    if (isMade_ && isOwn()) syscall(SYS_timer_delete, timer_);
  }
  TurnTimer(const TurnTimer&) = delete;
  TurnTimer& operator=(const TurnTimer&) = delete;

  /// A process that fork() made has no timers, but a copy of this.
  bool isOwn() const { return thread_ == gettid(); }
  bool start() const { return isMade_ && syscall(SYS_timer_settime, timer_, 0, &kTurn, nullptr) == 0; }

 private:
  const pid_t thread_ = gettid();
  int timer_ = 0;
  bool isMade_ = false;
};

void beginTurn(int priority) {
  static thread_local std::optional<TurnTimer> timer;
  if (!timer || !timer->isOwn()) timer.emplace();
  if (timer->start()) setPolicy(kFirst, priority);
}

int ownPriority() {
  sched_param own = {};
  sched_getparam(0, &own);
  return own.sched_priority;
}

}  // namespace

void comeFirst() { beginTurn(kHelper); }

void comeBeforeHelpers() { beginTurn(kHelped); }

void stepBack() { setPolicy(kOther, 0); }

void bringForward(pid_t thread) {
  const sched_param given = {kHelper};
  sched_setscheduler(thread, kFirst, &given);
}

void endFirst() {
  DIR* tasks = opendir("/proc/self/task");
  for (const dirent* task; tasks && (task = readdir(tasks));) {
    if (const pid_t thread = atoi(task->d_name)) bringForward(thread);
  }
  if (tasks) closedir(tasks);
}

StartsFirst::StartsFirst() : isFirst_(sched_getscheduler(0) == kFirst), priority_(ownPriority()) {
  if (isFirst_) setPolicy(SCHED_RR, kHelper);
}

StartsFirst::~StartsFirst() {
  // The turn may be over: the policy is another one then.
  if (isFirst_ && sched_getscheduler(0) == SCHED_RR) setPolicy(kFirst, priority_);
}

}  // namespace polytop
