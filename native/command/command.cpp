// SPDX-License-Identifier: Apache-2.0
#include "command/command.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "turns/mutex.h"
#include "util/clock.h"
#include "util/failure.h"

namespace polytop {

namespace {

std::atomic<uint64_t> endedNanoseconds = 0;

/// The groups of a user.
std::vector<gid_t> groupsOf(const Command& command) {
  int count = 64;
  std::vector<gid_t> groups(static_cast<size_t>(count));
  while (getgrouplist(command.user.c_str(), command.gid, groups.data(), &count) < 0)
    groups.resize(static_cast<size_t>(count));
  groups.resize(static_cast<size_t>(count));
  return groups;
}

std::vector<char*> pointersTo(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Signals that Node ignores or handles are those of a new program again. An exec keeps what is ignored.
void resetSignals() {
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; signal++) sigaction(signal, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool setDescriptors(const int (&descriptors)[3]) {
  // Above those that are replaced, so that none is lost before it is taken.
  int sources[3];
  for (int i = 0; i < 3; i++) {
    sources[i] = descriptors[i] < 0 ? open("/dev/null", O_RDWR) : fcntl(descriptors[i], F_DUPFD, 3);
    if (descriptors[i] < 0 && sources[i] >= 0 && sources[i] < 3) sources[i] = fcntl(sources[i], F_DUPFD, 3);
    if (sources[i] < 0) return false;
  }
  for (int i = 0; i < 3; i++) {
    if (dup2(sources[i], i) < 0) return false;
  }
  for (const int source : sources) close(source);
  return true;
}

/// glibc's functions would change all threads of this process, whose memory a vfork() shares: the kernel's do not.
bool dropRights(const Command& command, const std::vector<gid_t>& groups) {
  return command.user.empty() || (syscall(SYS_setgroups, groups.size(), groups.data()) == 0 &&
                                  syscall(SYS_setresgid, command.gid, command.gid, command.gid) == 0 &&
                                  syscall(SYS_setresuid, command.uid, command.uid, command.uid) == 0);
}

pid_t startHere(const Command& command) {
  const std::vector<char*> words = pointersTo(command.words), environment = pointersTo(command.environment);
  const std::vector<gid_t> groups = command.user.empty() ? std::vector<gid_t>{} : groupsOf(command);
  volatile int error = 0;
  sigset_t all, before;
  sigfillset(&all);
  // No handler of this process may run in the child, which has its memory.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // A fork() would copy the tables of all of Node's memory, and the child pay for each page that it writes.
  const pid_t pid = vfork();
  if (pid == 0) {
    resetSignals();
    if (setDescriptors(command.descriptors) && dropRights(command, groups))
      execvpe(words[0], words.data(), environment.data());
    error = errno;
    _exit(127);
  }
  const int refused = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) throw Failure("a process cannot be started", refused);
  if (error != 0) {
    waitpid(pid, nullptr, 0);
    throw Failure("cannot run " + command.words[0], error);
  }
  return pid;
}

/// There until the process ends.
class CommandThread {
 public:
  static CommandThread& only() {
    static auto& thread = *new CommandThread;
    return thread;
  }

  pid_t number() const { return number_; }

  pid_t start(const Command& command) {
    std::packaged_task<pid_t()> task([&command] { return startHere(command); });
    std::future<pid_t> pid = task.get_future();
    {
      std::lock_guard lock(mutex_);
      task_ = std::move(task);
    }
    wake_.notifyAll();
    return pid.get();
  }

 private:
  CommandThread() {
    std::promise<pid_t> number;
    std::future<pid_t> known = number.get_future();
    std::thread([this, number = std::move(number)]() mutable {
      number.set_value(gettid());
      run();
    }).detach();
    number_ = known.get();
  }

  [[noreturn]] void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return task_.valid(); });
      auto task = std::exchange(task_, {});
      lock.unlock();
      task();
    }
  }

  pid_t number_ = 0;
  Mutex mutex_;  ///< guards what follows
  Condition wake_;
  std::packaged_task<pid_t()> task_;
};

}  // namespace

pid_t commandThread() { return CommandThread::only().number(); }

pid_t startCommand(const Command& command) { return CommandThread::only().start(command); }

CommandEnd waitForCommand(pid_t pid) {
  siginfo_t end = {};
  rusage usage = {};
  // Before it is taken away, since it is a part of what this process's children took from then on.
  while (syscall(SYS_waitid, P_PID, pid, &end, WEXITED | WNOWAIT, &usage) != 0 && errno == EINTR) {
  }
  endedNanoseconds += cpuNanoseconds(usage);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? CommandEnd{0, WTERMSIG(status)} : CommandEnd{WEXITSTATUS(status), 0};
}

uint64_t commandNanoseconds() { return endedNanoseconds; }

}  // namespace polytop
