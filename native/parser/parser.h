// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "parser/protocol.h"
#include "turns/mutex.h"
#include "util/failure.h"
#include "util/file_descriptor.h"

namespace polytop {

/// Asks a parser about open files: Parser::ask() for files of one user.
using AskParser =
    std::function<std::vector<uint8_t>(ParseTask, const std::vector<int>& files, std::span<const uint8_t> given)>;

/// A file took all that its parser may spend on one.
class TakesTooLong : public Failure {
 public:
  using Failure::Failure;
};

/// Another file is read first: Parser::interrupt().
class Interrupted : public Failure {
 public:
  using Failure::Failure;
};

/**
 * Lets a program of its own, which has no rights, read what is in other people's files. It is started when it is needed
 * and killed where a file takes too much; another one reads the next file. Its answers are bytes that nobody vouches
 * for. Any thread; one request at a time.
 */
class Parser {
 public:
  /// `program`: the path of the parser. `mostCpu`: what reading one file may take, in nanoseconds. The budget of a
  /// file ends its reading before; this is for what does not keep to it.
  explicit Parser(std::string program, uint64_t mostCpu = kMostCpu) : program_(std::move(program)), mostCpu_(mostCpu) {}
  ~Parser();

  /// The answer to a request about open files, those of a user: who has read them never reads others' afterwards, but
  /// for root's. Throws a Failure where there is none, as a reason to be shown.
  std::vector<uint8_t> ask(ParseTask task, uint32_t owner, const std::vector<int>& files,
                           std::span<const uint8_t> given = {});
  /// Ends the program and with it all that it keeps; the next request starts another one.
  void rest();
  /// Ends a request that is under way, with Interrupted. Any thread.
  void interrupt() { interrupted_ = true; }
  /// Whether files of a user are still read before others: each has a share of that time. What is read without it may
  /// take long on a busy machine.
  bool mayHasten(uint32_t owner);
  /// Lets nobody wait for an answer any more, now and later. Any thread, also while another one waits.
  void close() { closing_ = true; }
  /// CPU time of the program that runs now, in nanoseconds; those before it have ended.
  uint64_t cpuNanoseconds() const;

 private:
  static constexpr uint64_t kMostCpu = 10'000'000'000;

  /// What is left to a user of the time that its files are read before others, in seconds.
  struct Haste {
    double left = 0, from = 0;
  };

  Haste& hasteOf(uint32_t owner);
  void start();
  void stop();
  /// Lets the program run as early as this thread, where that may be and is not spent.
  void hasten();
  void runAsEarly();
  void runBehindOthers();
  /// Notes what it has taken of that, and that it is over.
  void spend();
  /// What a request leaves behind.
  void finish();
  /// ask() of a program that runs.
  std::vector<uint8_t> attempt(ParseTask task, const std::vector<int>& files, std::span<const uint8_t> given);
  void send(ParseTask task, const std::vector<int>& files, std::span<const uint8_t> given);
  void receive(void* into, size_t size);
  /// Waits until there is something to receive.
  void await();
  /// Throws what there is to say of a program that has ended.
  [[noreturn]] void throwEnd();
  /// Ends the program and throws.
  [[noreturn]] void fail(const std::string& why);

  const std::string program_;
  const uint64_t mostCpu_;
  std::atomic<bool> closing_ = false, interrupted_ = false;
  Mutex mutex_;  ///< guards all that follows
  std::atomic<pid_t> child_ = -1;
  FileDescriptor socket_;
  uint32_t owner_ = 0;       ///< whose files it has read, beside root's
  uint64_t cpuAtStart_ = 0;  ///< of the request
  bool isHasty_ = false;
  std::unordered_map<uint32_t, Haste> haste_;  ///< by user
  uint32_t asker_ = 0;                         ///< whose file is read
};

}  // namespace polytop
