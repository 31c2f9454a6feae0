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

/// What a parser may take. The budget of a file (util/budget.h) ends its reading before; this is for what does not keep
/// to it, and for what was meant to be read at once.
struct ParserLimits {
  uint64_t cpu;        ///< for one file, in nanoseconds
  uint32_t megabytes;  ///< of memory
  bool isHeavy;        ///< one such parser works at a time, and ends behind each answer: HeavyTurn
};
/// For what others wait for: reading most files takes a thousandth of it. The parser runs as early as who asks it.
constexpr ParserLimits kReadAtOnce = {300'000'000, 32, false};
/// For small files that were not read at once, since that took long or many were before them: on a slow CPU all do.
constexpr ParserLimits kReadLate = {10'000'000'000, 32, false};
/// For files that take more.
constexpr ParserLimits kReadInTurn = {10'000'000'000, 96, true};
/// For what the user of polytop asks for by its name.
constexpr ParserLimits kReadOnDemand = {10'000'000'000, 256, false};

/// A file took all that its parser may spend on one.
class TakesTooMuch : public Failure {
 public:
  using Failure::Failure;
};

/// That was time: it would fit into the memory of one that is read at once.
class TakesTooLong : public TakesTooMuch {
 public:
  using TakesTooMuch::TakesTooMuch;
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
  /// `program`: the path of the parser.
  explicit Parser(std::string program, const ParserLimits& limits = kReadOnDemand)
      : program_(std::move(program)), limits_(limits) {}
  ~Parser();

  /// The answer to a request about open files, those of a user: who has read them never reads others' afterwards, but
  /// for root's. Throws a Failure where there is none, as a reason to be shown.
  std::vector<uint8_t> ask(ParseTask task, uint32_t owner, const std::vector<int>& files,
                           std::span<const uint8_t> given = {});
  /// Ends the program and with it all that it keeps; the next request starts another one.
  void rest();
  /// Ends a request that is under way, or waits for its turn, with Interrupted. Any thread.
  void interrupt();
  /// Whether files of a user are still read before others: each has a share of that time. What is read without it may
  /// take long on a busy machine.
  bool mayHasten(uint32_t owner);
  /// Lets nobody wait for an answer any more, now and later. Any thread, also while another one waits.
  void close();
  /// CPU time of the programs that run now, of all parsers, in nanoseconds; those before them have ended. Any thread.
  static uint64_t cpuNanosecondsOfAll();

 private:
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
  /// Ends that where it is spent, and begins it anew where there is some. `cpu`: what the program has taken.
  void pace(uint64_t cpu);
  /// What a request leaves behind.
  void finish();
  /// ask() when it is this parser's turn.
  std::vector<uint8_t> askInTurn(ParseTask task, uint32_t owner, const std::vector<int>& files,
                                 std::span<const uint8_t> given);
  /// askInTurn() of a program that runs.
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
  const ParserLimits limits_;
  std::atomic<bool> closing_ = false, interrupted_ = false;
  Mutex mutex_;  ///< guards all that follows
  pid_t child_ = -1;
  FileDescriptor socket_;
  uint32_t owner_ = 0;       ///< whose files it has read, beside root's
  uint64_t cpuAtStart_ = 0;  ///< of the request
  bool isHasty_ = false;
  uint64_t hastyFrom_ = 0;                     ///< CPU time of the program when it began to be that
  std::unordered_map<uint32_t, Haste> haste_;  ///< by user
  uint32_t asker_ = 0;                         ///< whose file is read
};

}  // namespace polytop
