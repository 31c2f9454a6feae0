// SPDX-License-Identifier: Apache-2.0
//
// Stops a program at random moments and walks its stack twice: by the tables of its files, and by rows made of
// instructions.
//
//   walk_twice STOPS STEPS COMMAND [ARGUMENT...]
//
// Behind each of the stops, STEPS instructions are made one by one, with a walk after each: so beginnings and ends of
// functions are met too. The command is begun anew until there were as many stops; what it prints is lost. Prints
//   stops=N walks=N whole=N frames=N told=N wrong=N lost=N
// as two_tables.h describes them, and before it the first wrong frames, as `file+offset, frame N: table's rule | ours`.
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "arch/arch.h"
#include "two_tables.h"

namespace {

using namespace polytop;

class Stopper {
 public:
  Stopper(uint64_t stops, uint64_t steps) : left_(stops), steps_(steps) {}

  uint64_t stops() const { return stops_; }
  const WalkCounts& counts() const { return counts_; }

  /// Runs the command up to its end, or up to the last stop. Returns whether it could be stopped at all.
  bool run(char** command) {
    const uint64_t before = stops_;
    const pid_t pid = fork();
    if (pid == 0) {
      const int nowhere = open("/dev/null", O_RDWR);
      for (int number = 0; number <= 2; number++) dup2(nowhere, number);
      ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      execvp(command[0], command);
      _exit(127);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) return false;
    ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_EXITKILL);
    TwoWalks walks(pid);
    int signal = 0;
    while (left_ > 0) {
      if (ptrace(PTRACE_CONT, pid, nullptr, signal) != 0) break;
      std::this_thread::sleep_for(std::chrono::microseconds(pause_(random_)));
      // A signal of its own comes first; this one then is met at its next stop.
      kill(pid, SIGSTOP);
      if (!waitForStop(pid, status)) break;
      signal = signalOf(status);
      if (signal == 0) stopHere(pid, walks, signal);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    const WalkCounts& it = walks.counts();
    counts_.walks += it.walks;
    counts_.whole += it.whole;
    counts_.frames += it.frames;
    counts_.told += it.told;
    counts_.wrong += it.wrong;
    counts_.lost += it.lost;
    return stops_ > before;
  }

  bool isDone() const { return left_ == 0; }

 private:
  static bool waitForStop(pid_t pid, int& status) { return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status); }
  static int signalOf(int status) {
    const int signal = WSTOPSIG(status);
    return signal == SIGSTOP || signal == SIGTRAP ? 0 : signal;
  }

  void stopHere(pid_t pid, TwoWalks& walks, int& signal) {
    stops_++;
    left_--;
    for (uint64_t step = 0; step <= steps_; step++) {
      user_regs_struct registers;
      if (ptrace(PTRACE_GETREGS, pid, nullptr, &registers) != 0) return;
      walks.walk(registers);
      int status = 0;
      if (step == steps_ || ptrace(PTRACE_SINGLESTEP, pid, nullptr, nullptr) != 0 || !waitForStop(pid, status)) return;
      signal = signalOf(status);
      if (signal != 0) return;
    }
  }

  uint64_t left_, stops_ = 0;
  const uint64_t steps_;
  WalkCounts counts_;
  std::minstd_rand random_{std::random_device{}()};
  std::uniform_int_distribution<uint32_t> pause_{100, 3000};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: walk_twice STOPS STEPS COMMAND [ARGUMENT...]\n");
    return 2;
  }
  Stopper stopper(std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10));
  while (!stopper.isDone()) {
    if (!stopper.run(argv + 3)) {
      std::fprintf(stderr, "walk_twice: %s does not run long enough to be stopped\n", argv[3]);
      return 1;
    }
  }
  const WalkCounts& it = stopper.counts();
  std::printf("stops=%" PRIu64 " walks=%" PRIu64 " whole=%" PRIu64 " frames=%" PRIu64 " told=%" PRIu64 " wrong=%" PRIu64
              " lost=%" PRIu64 "\n",
              stopper.stops(), it.walks, it.whole, it.frames, it.told, it.wrong, it.lost);
  return 0;
}
