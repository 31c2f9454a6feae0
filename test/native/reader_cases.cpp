// SPDX-License-Identifier: Apache-2.0
//
// Reading memory of processes of which some never answer:
//
//   reader_cases PROGRAM
//
// PROGRAM is polytop-reader. Pages that never come are those of a userfaultfd(2) that nobody serves; without the right
// to make one these cases are left out, and the last line says so.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "check.h"
#include "denied_calls.h"
#include "memory/memory_reader.h"
#include "memory/program/confine.h"

namespace {

using namespace polytop;
using Clock = std::chrono::steady_clock;

constexpr size_t kPage = 4096;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// A process with a page that holds "here" and behind it one that never comes.
struct Silent {
  uint8_t* pages = nullptr;
  pid_t pid = -1;

  Silent() {
    pages = static_cast<uint8_t*>(mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    int ready[2];
    if (pipe(ready) != 0) return;
    pid = fork();
    if (pid == 0) run(ready[1]);
    close(ready[1]);
    char isReady = 0;
    if (::read(ready[0], &isReady, 1) != 1 || !isReady) end();
    close(ready[0]);
  }
  ~Silent() {
    end();
    munmap(pages, 2 * kPage);
  }

  uint64_t there() const { return reinterpret_cast<uint64_t>(pages); }
  uint64_t never() const { return there() + kPage; }

  void end() {
    if (pid > 0) kill(pid, SIGKILL);
    if (pid > 0) waitpid(pid, nullptr, 0);
    pid = -1;
  }

 private:
  [[noreturn]] void run(int ready) const {
    constexpr uid_t kNobody = 65534;
    const int faults = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
    uffdio_api api = {UFFD_API, 0, 0};
    uffdio_register range = {{never(), kPage}, UFFDIO_REGISTER_MODE_MISSING, 0};
    memcpy(pages, "here", 4);
    const char isReady =
        faults >= 0 && ioctl(faults, UFFDIO_API, &api) == 0 && ioctl(faults, UFFDIO_REGISTER, &range) == 0;
    if (setresuid(kNobody, kNobody, kNobody) != 0) _exit(1);
    [[maybe_unused]] const ssize_t told = write(ready, &isReady, 1);
    for (;;) pause();
  }
};

bool readsHere(MemoryReader& reader, pid_t pid, uint64_t address) {
  char text[4] = {};
  return reader.read(pid, address, text, sizeof text) == sizeof text && memcmp(text, "here", 4) == 0;
}

/// The children of this process that run the reader.
std::vector<pid_t> readers() {
  std::vector<pid_t> found;
  std::ifstream children("/proc/self/task/" + std::to_string(getpid()) + "/children");
  for (pid_t pid = 0; children >> pid;) {
    std::ifstream comm("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    std::getline(comm, name);
    if (name == "polytop-reader") found.push_back(pid);
  }
  return found;
}

std::string statusOf(pid_t pid, const std::string& field) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":\t")) return line.substr(field.size() + 2);
  }
  return "";
}

void testHonest(const char* program) {
  MemoryReader reader(program);
  static const char here[] = "here";
  const auto address = reinterpret_cast<uint64_t>(here);
  check(readsHere(reader, getpid(), address), "own memory");
  char text[4];
  check(reader.read(getpid(), 4096, text, 4) == 0, "an address that nothing is at");
  std::vector<uint8_t> much(3 * kReadBytes / 2, 7), copy(much.size());
  check(reader.read(getpid(), reinterpret_cast<uint64_t>(much.data()), copy.data(), copy.size()) == copy.size() &&
            copy == much,
        "more than fits into one request");
  std::vector<uint64_t> numbers(200);
  std::vector<uint64_t> copies(numbers.size());
  std::vector<WantedBytes> wanted;
  for (size_t i = 0; i < numbers.size(); i++) {
    numbers[i] = i * i;
    wanted.push_back({getpid(), reinterpret_cast<uint64_t>(&numbers[i]), &copies[i], sizeof copies[i], 0});
  }
  wanted[100].address = 4096;
  reader.read(wanted);
  numbers[100] = 0;
  check(copies == numbers && wanted[100].got == 0 && wanted[199].got == 8, "many places, one of them missing");

  const std::vector<pid_t> running = readers();
  check(running.size() == 1, "one reader");
  if (running.empty()) return;
  check(statusOf(running[0], "Seccomp") == "2" && statusOf(running[0], "NoNewPrivs") == "1", "it may call little");
  check(
      statusOf(running[0], "CapBnd") != "" && strtoull(statusOf(running[0], "CapEff").c_str(), nullptr, 16) <= 1 << 19,
      "it may read processes, and no more");
  kill(running[0], SIGKILL);
  check(readsHere(reader, getpid(), address), "killed by hand, and the next one goes on");
  check(reader.takeNotices().empty(), "nothing to tell");
  check(reader.cpuNanoseconds() > 0, "its time is known");
}

/// A process of which only a second thread is left: it goes by the number of that one.
void testFirstThreadGone(const char* program) {
  static const char here[] = "here";
  const pid_t pid = fork();
  if (pid == 0) {
    pthread_t thread = 0;
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          for (;;) pause();
        },
        nullptr);
    // The thread alone, not the process.
    syscall(SYS_exit, 0);
  }
  for (int i = 0; i < 500 && statusOf(pid, "State").substr(0, 1) != "Z"; i++) usleep(10'000);
  MemoryReader reader(program);
  char text[4];
  check(readsHere(reader, pid, reinterpret_cast<uint64_t>(here)), "the first thread of a process has ended");
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  check(reader.read(pid, reinterpret_cast<uint64_t>(here), text, 4) == 0, "the process is gone");
}

void testSilent(const char* program) {
  MemoryReader reader(program);
  static const char here[] = "here";
  const auto own = reinterpret_cast<uint64_t>(here);
  std::vector<Silent> hogs(5);
  Clock::time_point start = Clock::now();
  check(readsHere(reader, hogs[0].pid, hogs[0].there()), "its other pages");
  char text[4];
  check(reader.read(hogs[0].pid, hogs[0].never(), text, 4) == 0 && secondsSince(start) < 1, "a page that never comes");
  start = Clock::now();
  for (int i = 0; i < 10'000; i++) reader.read(hogs[0].pid, hogs[0].there(), text, 4);
  check(secondsSince(start) < 1 && !readsHere(reader, hogs[0].pid, hogs[0].there()), "its process is left alone");
  check(readsHere(reader, getpid(), own), "others are not");
  std::vector<WantedBytes> mixed;
  char texts[3][4] = {};
  mixed.push_back({getpid(), own, texts[0], 4, 0});
  mixed.push_back({hogs[1].pid, hogs[1].never(), texts[1], 4, 0});
  mixed.push_back({getpid(), own, texts[2], 4, 0});
  reader.read(mixed);
  check(mixed[0].got == 4 && mixed[1].got == 0 && mixed[2].got == 4, "one of many keeps only itself waiting");
  start = Clock::now();
  for (const Silent& hog : hogs) reader.read(hog.pid, hog.never(), text, 4);
  check(secondsSince(start) < 1.5, "several are not waited for long");
  check(!readsHere(reader, hogs[4].pid, hogs[4].there()), "their user is left alone");
  check(readsHere(reader, getpid(), own), "other users are not");
  const std::vector<std::string> notices = reader.takeNotices();
  check(!notices.empty() && notices[0].find("user 65534") != std::string::npos, "a notice says whose they are");
  usleep(100'000);
  reader.takeNotices();
  check(readers().size() <= 1, "readers that are given up go");
}

}  // namespace

void testCalls() {
  const auto isConfined = [](pid_t /*parent*/) { return reader::dropCapabilities() && reader::denyOtherCalls(); };
  check(endOf(isConfined, [] {}).returned, "a program can be confined");
  checkDenied(isConfined, "process_vm_readv");
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  testCalls();
  testHonest(argv[1]);
  testFirstThreadGone(argv[1]);
  const bool canMake = Silent().pid > 0;
  if (canMake) testSilent(argv[1]);
  if (!canMake) std::printf("pages that never come cannot be made here\n");
  return reportChecks();
}
