// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_reader.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <iterator>

#include "turns/first_turn.h"
#include "util/clock.h"
#include "util/process.h"

namespace polytop {

namespace {

using std::chrono::milliseconds, std::chrono::seconds, std::chrono::minutes;

/// A page comes from a disk in less, and from a swap under pressure too.
constexpr milliseconds kPatience{200};
/// The most that is waited for in vain in a second, of all processes; then there is little patience. A refresh that
/// waits for symbols too is to come within half a second all the same.
constexpr milliseconds kWaitBudget{250}, kLittlePatience{20};
/// So often it is looked whether the program still runs.
constexpr milliseconds kLook{20};
/// Short at first: on a machine without a free CPU whoever holds the lock of an address space may wait for one too.
constexpr seconds kFirstSilence{2};
constexpr minutes kLongestSilence{10};
/// A user of whose processes so many did not answer is left alone.
constexpr int kSilentProcesses = 3;
/// The program may be killed at any time: that is nobody's silence.
constexpr int kAttempts = 2;
/// So many milliseconds are waited for it at the end; one that is held up is left to the init process.
constexpr int kLooksAtEnd = 20;
constexpr seconds kRestBetweenStarts{1};
constexpr size_t kMaxSilent = 4096, kMaxNotices = 4;

/// Passes CAP_SYS_PTRACE on to a program that is no root's. In a child, where only system calls are safe.
void passCapability() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return;
  data[0].inheritable |= data[0].permitted & 1U << CAP_SYS_PTRACE;
  if (syscall(SYS_capset, &header, data) == 0) prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_PTRACE, 0, 0);
}

/// The child. It leaves nothing of polytop's open: a program of the kernel lives as long as its last descriptor.
[[noreturn]] void becomeReader(const char* program, const char* parent, int area) {
  // dup2() of a descriptor to itself would leave it to be closed by execve().
  if (area == kReadAreaFd ? fcntl(area, F_SETFD, 0) < 0 : dup2(area, kReadAreaFd) < 0) _exit(1);
  close_range(kReadAreaFd + 1, UINT_MAX, 0);
  passCapability();
  char* const arguments[] = {const_cast<char*>(program), const_cast<char*>(parent), nullptr};
  char* const environment[] = {nullptr};
  execve(program, arguments, environment);
  _exit(127);
}

uint64_t cpuOf(pid_t pid) {
  clockid_t clock = 0;
  return pid > 0 && clock_getcpuclockid(pid, &clock) == 0 ? clockNanoseconds(clock) : 0;
}

}  // namespace

MemoryReader::~MemoryReader() {
  stop();
  for (int i = 0; i < kLooksAtEnd && !givenUp_.empty(); i++) {
    usleep(1000);
    reap();
  }
}

size_t MemoryReader::read(pid_t pid, uint64_t address, void* into, size_t size) {
  size_t done = 0;
  while (done < size) {
    WantedBytes wanted = {pid, address + done, static_cast<uint8_t*>(into) + done,
                          std::min<size_t>(size - done, kReadBytes)};
    read(std::span(&wanted, 1));
    done += wanted.got;
    if (wanted.got < wanted.size) break;
  }
  return done;
}

void MemoryReader::read(std::span<WantedBytes> wanted) {
  std::lock_guard lock(mutex_);
  while (!wanted.empty()) {
    size_t count = 0, bytes = 0;
    while (count < wanted.size() && count < kMaxRanges && bytes + wanted[count].size <= kReadBytes)
      bytes += wanted[count++].size;
    if (count == 0) return;
    Answer answer = Answer::kSilence;
    // Who keeps the reader waiting is left alone from then on, and the others are asked for once more.
    while (answer == Answer::kSilence) answer = readSome(wanted.first(count));
    if (answer == Answer::kNobody) return;
    wanted = wanted.subspan(count);
  }
}

MemoryReader::Answer MemoryReader::readSome(std::span<WantedBytes> wanted) {
  std::vector<WantedBytes*> asked;
  for (WantedBytes& it : wanted) {
    it.got = 0;
    if (silent_.empty() || !isLeftAlone(it.pid)) asked.push_back(&it);
  }
  if (asked.empty()) return Answer::kGiven;
  Answer answer = Answer::kNobody;
  for (int attempt = 0; answer == Answer::kNobody && attempt < kAttempts; attempt++) {
    if (child_ < 0 && !start()) return Answer::kNobody;
    pid_t thread = 0;
    for (size_t i = 0; i < asked.size(); i++) {
      if (i == 0 || asked[i]->pid != asked[i - 1]->pid) thread = livingThread(asked[i]->pid);
      area_->ranges[i] = {asked[i]->address, thread, static_cast<uint32_t>(asked[i]->size), 0};
    }
    answer = ask(static_cast<uint32_t>(asked.size()));
  }
  // A program that ends as soon as it starts is not started for each read.
  if (answer == Answer::kNobody) startAfter_ = Clock::now() + kRestBetweenStarts;
  if (answer == Answer::kSilence) giveUp(asked[std::min<size_t>(silentAt_, asked.size() - 1)]->pid);
  if (answer != Answer::kGiven) return answer;
  const uint8_t* from = area_->bytes;
  for (size_t i = 0; i < asked.size(); i++) {
    asked[i]->got = std::min<size_t>(area_->ranges[i].got, asked[i]->size);
    memcpy(asked[i]->into, from, asked[i]->got);
    from += asked[i]->size;
  }
  return answer;
}

MemoryReader::Answer MemoryReader::ask(uint32_t count) {
  area_->at.store(0, std::memory_order_relaxed);
  area_->count = count;
  passTurn(area_->turn, READ_ASKED);
  const Clock::time_point asked = Clock::now();
  Clock::time_point progress = asked;
  if (asked - budgetFrom_ > seconds(1)) {
    budgetFrom_ = asked;
    waited_ = {};
  }
  const Clock::duration patience = waited_ < kWaitBudget ? kPatience : kLittlePatience;
  const timespec look = {0, std::chrono::nanoseconds(std::min<Clock::duration>(patience, kLook)).count()};
  // Many pages may come from a disk one after the other.
  for (uint32_t at = 0; Clock::now() - progress < patience && Clock::now() - asked < kWaitBudget;) {
    awaitTurn(area_->turn, READ_ASKED, &look);
    if (at != std::exchange(at, area_->at.load(std::memory_order_relaxed))) progress = Clock::now();
    if (area_->turn.load(std::memory_order_acquire) == READ_ANSWERED) return Answer::kGiven;
    if (waitpid(child_, nullptr, WNOHANG) != child_) continue;
    child_ = -1;
    stop();
    return Answer::kNobody;
  }
  waited_ += Clock::now() - asked;
  silentAt_ = area_->at.load(std::memory_order_relaxed);
  stop();
  return Answer::kSilence;
}

bool MemoryReader::start() {
  reap();
  if (isHopeless_ || Clock::now() < startAfter_) return false;
  const FileDescriptor file(memfd_create("polytop-reader", MFD_CLOEXEC));
  void* area = MAP_FAILED;
  if (file.valid() && ftruncate(file.get(), sizeof(ReadArea)) == 0)
    area = mmap(nullptr, sizeof(ReadArea), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (area == MAP_FAILED || access(program_.c_str(), X_OK) != 0) {
    isHopeless_ = true;
    notice("memory of processes cannot be read, and some functions have no names: " + program_ + ": " +
           strerror(errno));
    if (area != MAP_FAILED) munmap(area, sizeof(ReadArea));
    return false;
  }
  area_ = static_cast<ReadArea*>(area);
  const std::string parent = std::to_string(getpid());
  // Until it is another program it seems to have all of polytop's memory.
  const StartsFirst startsFirst;
  child_ = fork();
  if (child_ == 0) becomeReader(program_.c_str(), parent.c_str(), file.get());
  if (child_ < 0) stop();
  return child_ > 0;
}

void MemoryReader::stop() {
  if (child_ > 0) {
    kill(child_, SIGKILL);
    givenUp_.push_back(child_);
  }
  child_ = -1;
  if (area_) munmap(area_, sizeof(ReadArea));
  area_ = nullptr;
  reap();
}

/// One that even SIGKILL does not reach at once ends when the page comes.
void MemoryReader::reap() {
  std::erase_if(givenUp_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
}

void MemoryReader::giveUp(pid_t pid) {
  const Clock::time_point now = Clock::now();
  if (silent_.size() >= kMaxSilent) silent_.clear();
  const auto leaveAlone = [now](Silence& silence) {
    if (silence.count++ == 0) silence.next = kFirstSilence;
    silence.until = now + silence.next;
    silence.next = std::min<Clock::duration>(2 * silence.next, kLongestSilence);
  };
  Silence& process = silent_[pid];
  leaveAlone(process);
  const uint32_t user = userOfProcess(pid);
  const std::string whose = " (user " + std::to_string(user) + ")";
  if (process.count == 1)
    notice("memory of pid " + std::to_string(pid) + whose + " does not answer: some of its functions have no names");
  if (user == kUnknownUser || process.count > 1) return;
  Silence& all = silentUsers_[user];
  if (++all.count < kSilentProcesses) return;
  if (all.count == kSilentProcesses) all.next = kFirstSilence;
  all.until = now + all.next;
  all.next = std::min<Clock::duration>(2 * all.next, kLongestSilence);
  if (user != 0) notice("memory of several processes" + whose + " does not answer: all of theirs are left alone");
}

bool MemoryReader::isLeftAlone(pid_t pid) {
  const Clock::time_point now = Clock::now();
  const auto found = silent_.find(pid);
  if (found != silent_.end()) return now < found->second.until;
  if (std::none_of(silentUsers_.begin(), silentUsers_.end(), [now](const auto& it) { return now < it.second.until; }))
    return false;
  // Root's processes, and the kernel's, are not left alone for what one of them does.
  const uint32_t user = userOfProcess(pid);
  const auto all = silentUsers_.find(user);
  return user != 0 && all != silentUsers_.end() && now < all->second.until;
}

void MemoryReader::notice(std::string text) {
  if (notices_.size() < kMaxNotices) notices_.push_back(std::move(text));
}

std::vector<std::string> MemoryReader::takeNotices() {
  std::lock_guard lock(mutex_);
  reap();
  return std::exchange(notices_, {});
}

uint64_t MemoryReader::cpuNanoseconds() {
  std::lock_guard lock(mutex_);
  return cpuOf(child_);
}

}  // namespace polytop
