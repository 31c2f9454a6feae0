// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "memory/read_area.h"
#include "turns/mutex.h"
#include "util/file_descriptor.h"

namespace polytop {

/// Memory of another process that is asked for.
struct WantedBytes {
  pid_t pid = 0;
  uint64_t address = 0;
  void* into = nullptr;
  size_t size = 0;
  size_t got = 0;  ///< bytes that could be read, fewer where a page is missing
};

/**
 * Reads memory of other processes by a program of its own. A process may have pages that never come (those of a FUSE
 * server or of userfaultfd), and who touches one waits for ever: the program is given up then, another one is started,
 * and the process is left alone for a while, as is its user where several of their processes do that. Any thread may
 * call it.
 */
class MemoryReader {
 public:
  /// `program`: the path of the reader.
  explicit MemoryReader(std::string program) : program_(std::move(program)) {}
  ~MemoryReader();

  /// Returns the bytes read: fewer than `size` where a page is missing, 0 where nothing could be read in time.
  size_t read(pid_t pid, uint64_t address, void* into, size_t size);
  /// The same for many places at once, which costs hardly more than for one.
  void read(std::span<WantedBytes> wanted);

  /// What users must know since the last call: who is left alone, and why.
  std::vector<std::string> takeNotices();
  /// CPU time of the program that runs now, in nanoseconds; those before it have ended.
  uint64_t cpuNanoseconds();

 private:
  using Clock = std::chrono::steady_clock;
  /// Who did not answer, and until when nothing is asked of them.
  struct Silence {
    Clock::time_point until;
    Clock::duration next;
    int count = 0;
  };

  bool start();
  void stop();
  /// Leaves a process alone for a while.
  void giveUp(pid_t pid);
  bool isLeftAlone(pid_t pid);
  enum class Answer { kGiven, kSilence, kNobody };
  /// Asks for what is in the area.
  Answer ask(uint32_t count);
  /// Asks for ranges that fit into the area together, leaving out those of processes that are left alone.
  Answer readSome(std::span<WantedBytes> wanted);
  void notice(std::string text);
  void reap();

  const std::string program_;
  Mutex mutex_;  ///< guards all that follows
  pid_t child_ = -1;
  ReadArea* area_ = nullptr;
  uint32_t silentAt_ = 0;    ///< index of the range that the last silence was for
  bool isHopeless_ = false;  ///< it cannot be started
  Clock::time_point startAfter_;
  Clock::time_point budgetFrom_;
  Clock::duration waited_{};  ///< for what never came, since then
  std::map<pid_t, Silence> silent_;
  std::map<uint32_t, Silence> silentUsers_;
  std::vector<pid_t> givenUp_;  ///< killed, and not ended yet
  std::vector<std::string> notices_;
};

}  // namespace polytop
