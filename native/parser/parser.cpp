// SPDX-License-Identifier: Apache-2.0
#include "parser/parser.h"

#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "turns/first_turn.h"
#include "turns/heavy_turn.h"
#include "turns/priority.h"
#include "util/clock.h"
#include "util/failure.h"
#include "util/populated.h"
#include "util/utf8.h"

namespace polytop {

namespace {

/// So often it is looked whether the program gets on, in milliseconds. Looks are counted, not time: polytop itself may
/// have been stopped meanwhile.
constexpr int kLook = 50;
/// Who waits has others run before him too: what is read at once is read by a program that runs as early as its asker,
/// as long as that takes a part of a CPU at most. Else it runs behind all others.
constexpr double kHastyShare = 0.3, kHastyAtOnce = 3;
/// The same for each user but root.
constexpr double kHastyShareOfUser = 0.05, kHastyAtOnceOfUser = 0.6;
/// The same for all users but root together, where a file takes more: among very many threads it would not get on at
/// all. Begun anew with so much.
constexpr double kHastyShareInTurn = 0.1, kHastyAtOnceInTurn = 0.1;
constexpr uint32_t kAllUsers = UINT32_MAX;
constexpr size_t kMaxUsers = 1024;

/// So much in all, and another one reads the next file: it has limits for all that it reads.
constexpr uint64_t kMostCpuOfAll = 15'000'000'000;
/// The program is stopped, or the disk does not answer.
constexpr int kLooksInVain = 10'000 / kLook;
/// It may be killed at any time, for no fault of the file.
constexpr int kAttempts = 2;

uint64_t cpuOf(pid_t pid) {
  clockid_t clock = 0;
  return pid > 0 && clock_getcpuclockid(pid, &clock) == 0 ? clockNanoseconds(clock) : 0;
}

/// The programs that run now, of all parsers of this process.
class Programs {
 public:
  static Programs& all() {
    // It is never taken down: threads may still read files while the process ends.
    static Programs& only = *new Programs;
    return only;
  }

  void add(pid_t child) {
    const std::lock_guard lock(mutex_);
    children_.push_back(child);
  }
  /// Before it is waited for: its number may be another program's then.
  void remove(pid_t child) {
    const std::lock_guard lock(mutex_);
    std::erase(children_, child);
  }
  uint64_t cpuNanoseconds() {
    const std::lock_guard lock(mutex_);
    uint64_t sum = 0;
    for (const pid_t child : children_) sum += cpuOf(child);
    return sum;
  }

 private:
  Mutex mutex_;
  std::vector<pid_t> children_;
};

/// Kills a program and waits for its end. That takes a CPU too, and all that is left to it is to end: it comes first.
int endProgram(pid_t child) {
  int status = 0;
  Programs::all().remove(child);
  kill(child, SIGKILL);
  const sched_param lowest = {1};
  sched_setscheduler(child, SCHED_RR, &lowest);
  waitpid(child, &status, 0);
  return status;
}

/// The program has ended, while it was asked.
class Ended : public Failure {
 public:
  using Failure::Failure;
};

std::string nameEnd(int status) {
  if (!WIFSIGNALED(status)) return "its parser ended";
  if (WTERMSIG(status) == SIGXCPU) return "reading it takes too long";
  if (WTERMSIG(status) == SIGSYS) return "its parser did what it may not do";
  return "its parser was ended by signal " + std::to_string(WTERMSIG(status));
}

}  // namespace

Parser::~Parser() { stop(); }

void Parser::rest() {
  const std::lock_guard lock(mutex_);
  stop();
}

void Parser::close() {
  closing_ = true;
  interrupt();
}

void Parser::interrupt() {
  interrupted_ = true;
  if (limits_.isHeavy) HeavyTurn::only().wake();
}

uint64_t Parser::cpuNanosecondsOfAll() { return Programs::all().cpuNanoseconds(); }

std::vector<uint8_t> Parser::ask(ParseTask task, uint32_t owner, const std::vector<int>& files,
                                 std::span<const uint8_t> given) {
  if (files.size() > kMaxRequestFiles || given.size() > kMaxRequest) throw Failure("it is too much to read at once");
  const std::lock_guard lock(mutex_);
  interrupted_ = false;
  if (closing_) throw Failure("polytop ends");
  if (!limits_.isHeavy) return askInTurn(task, owner, files, given);
  const HeavyTurn::Holder turn(HeavyTurn::only(), owner, interrupted_);
  if (!turn.hasTurn()) throw Interrupted("others come first");
  // What takes long takes much memory too: it is given back before it is another one's turn.
  const struct Ending {
    Parser& parser;
    ~Ending() { parser.stop(); }
  } ending = {*this};
  return askInTurn(task, owner, files, given);
}

std::vector<uint8_t> Parser::askInTurn(ParseTask task, uint32_t owner, const std::vector<int>& files,
                                       std::span<const uint8_t> given) {
  asker_ = owner;
  // A file that leads its reader astray has power over what it says of the next ones.
  if (owner_ != 0 && owner_ != owner) stop();
  for (int attempts = 1;; attempts++) {
    try {
      if (cpuOf(child_) > kMostCpuOfAll) stop();
      if (child_ < 0) start();
      owner_ = owner;
      return attempt(task, files, given);
    } catch (const Ended&) {
      if (attempts == kAttempts) throw;
    }
  }
}

Parser::Haste& Parser::hasteOf(uint32_t owner) {
  if (haste_.size() >= kMaxUsers) haste_.clear();
  const double now = static_cast<double>(clockNanoseconds(CLOCK_MONOTONIC)) / 1e9;
  double share = kHastyShare, atOnce = kHastyAtOnce;
  if (owner != 0) {
    share = limits_.isHeavy ? kHastyShareInTurn : kHastyShareOfUser;
    atOnce = limits_.isHeavy ? kHastyAtOnceInTurn : kHastyAtOnceOfUser;
  }
  Haste& haste = haste_[owner != 0 && limits_.isHeavy ? kAllUsers : owner];
  haste.left = std::min(atOnce, haste.left + (now - haste.from) * share);
  haste.from = now;
  return haste;
}

bool Parser::mayHasten(uint32_t owner) {
  const std::lock_guard lock(mutex_);
  return hasteOf(owner).left > 0;
}

void Parser::hasten() {
  isHasty_ = hasteOf(asker_).left > 0;
  hastyFrom_ = cpuOf(child_);
  if (!isHasty_)
    runBehindOthers();
  else if (mayRaisePriority())
    runAsEarly();
}

void Parser::runAsEarly() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(child_), getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())));
  sched_param given = {};
  sched_getparam(0, &given);
  // This thread may have a real-time priority: first_turn.h.
  if (given.sched_priority > 0) sched_setscheduler(child_, SCHED_RR, &given);
}

void Parser::runBehindOthers() {
  const sched_param none = {};
  sched_setscheduler(child_, SCHED_OTHER, &none);
  setpriority(PRIO_PROCESS, static_cast<id_t>(child_), kParserNice);
}

void Parser::spend() {
  hasteOf(asker_).left -= static_cast<double>(std::max(cpuOf(child_), hastyFrom_) - hastyFrom_) / 1e9;
  isHasty_ = false;
}

void Parser::pace(uint64_t cpu) {
  const double left = hasteOf(asker_).left;
  const uint64_t taken = cpu - hastyFrom_;
  if (isHasty_ && static_cast<double>(taken) / 1e9 > left && (limits_.isHeavy || taken > kReadAtOnce.cpu)) {
    spend();
    runBehindOthers();
  } else if (!isHasty_ && left >= kHastyAtOnceInTurn && mayRaisePriority()) {
    hasten();
  }
}

void Parser::finish() {
  const bool wasHasty = isHasty_;
  if (wasHasty) spend();
  if (mayRaisePriority())
    runBehindOthers();
  else if (!wasHasty)
    stop();  // It cannot be made faster again: the next one begins anew.
}

std::vector<uint8_t> Parser::attempt(ParseTask task, const std::vector<int>& files, std::span<const uint8_t> given) {
  cpuAtStart_ = cpuOf(child_);
  hasten();
  send(task, files, given);
  AnswerHeader header = {};
  receive(&header, sizeof header);
  // The program puts it together beside what it is made of: it is half of the memory at most.
  if (header.size > uint64_t{limits_.megabytes} << 19) fail("its parser says what cannot be");
  std::vector<uint8_t> answer = populated<uint8_t>(header.size);
  receive(answer.data(), answer.size());
  finish();
  if (header.outcome == Outcome::kAnswered) return answer;
  if (header.outcome == Outcome::kTooLittle) throw TakesTooMuch("reading it takes too much memory");
  constexpr ptrdiff_t kMaxReason = 200;
  throw Failure(plainText({answer.begin(), answer.begin() + std::min(std::ssize(answer), kMaxReason)}));
}

void Parser::start() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw Failure("no parser can be started", errno);
  socket_ = FileDescriptor(ends[0]);
  const FileDescriptor theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  // What else it gets it closes before anything else: a program of the kernel lives as long as its last descriptor.
  // (posix_spawn_file_actions_addclosefrom_np() would do that here, but came with glibc 2.34.)
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), kParserSocket);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string program = program_, parent = std::to_string(getpid()), megabytes = std::to_string(limits_.megabytes);
  char* const arguments[] = {program.data(), parent.data(), megabytes.data(), nullptr};
  // Its memory comes in huge pages (glibc 2.35): a large file takes tens of MB of it, and in a virtual machine that
  // hears of each fault its pages of 4 KB took more time than reading it.
  std::string tunables = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1";
  char* const environment[] = {tunables.data(), nullptr};
  pid_t child = -1;
  // Each request sets its priority.
  const StartsFirst startsFirst;
  const int error = posix_spawn(&child, program.c_str(), &actions, &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw Failure("files cannot be read: " + program, error);
  Programs::all().add(child);
  child_ = child;
}

void Parser::stop() {
  if (isHasty_) spend();
  socket_ = {};
  if (child_ >= 0) endProgram(std::exchange(child_, -1));
}

void Parser::fail(const std::string& why) {
  stop();
  throw Failure(why);
}

void Parser::throwEnd() {
  if (isHasty_) spend();
  socket_ = {};
  // It has closed its end at least, and does not answer any more whatever it does.
  throw Ended(nameEnd(endProgram(std::exchange(child_, -1))));
}

void Parser::send(ParseTask task, const std::vector<int>& files, std::span<const uint8_t> given) {
  RequestHeader header = {task, static_cast<uint32_t>(given.size()), static_cast<uint32_t>(files.size())};
  std::array<iovec, 2> parts = {iovec{&header, sizeof header}, iovec{const_cast<uint8_t*>(given.data()), given.size()}};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxRequestFiles * sizeof(int))> control = {};
  msghdr message = {};
  message.msg_iov = parts.data();
  message.msg_iovlen = given.empty() ? 1 : 2;
  if (files.size() > 0) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(files.size() * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
    memcpy(CMSG_DATA(rights), files.data(), files.size() * sizeof(int));
  }
  // The whole request fits into the socket: whoever answers one reads all of it before.
  const ssize_t sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != static_cast<ssize_t>(sizeof header + given.size())) throwEnd();
}

void Parser::receive(void* into, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t got = recv(socket_.get(), static_cast<uint8_t*>(into) + done, size - done, MSG_DONTWAIT);
    if (got > 0) {
      done += static_cast<size_t>(got);
    } else if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      await();
    } else {
      throwEnd();
    }
  }
}

void Parser::await() {
  uint64_t cpu = cpuOf(child_);
  for (int vain = 0; vain < kLooksInVain; vain++) {
    pollfd ready = {socket_.get(), POLLIN, 0};
    if (poll(&ready, 1, kLook) > 0) return;
    if (closing_) fail("polytop ends");
    if (interrupted_) {
      stop();
      throw Interrupted("others come first");
    }
    const uint64_t now = cpuOf(child_);
    pace(now);
    if (now - cpuAtStart_ > limits_.cpu) {
      stop();
      throw TakesTooLong("reading it takes too long");
    }
    if (now != std::exchange(cpu, now)) vain = 0;
  }
  fail("its parser does not answer");
}

}  // namespace polytop
