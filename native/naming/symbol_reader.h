// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "files/open_file.h"
#include "naming/symbol_index.h"
#include "parser/parser.h"
#include "turns/fair_queue.h"
#include "turns/mutex.h"

namespace polytop {

/// Something to read about a file: all its symbols, or names of some of its functions.
struct SymbolJob {
  std::shared_ptr<OpenFile> file;
  std::shared_ptr<SymbolIndex> named;  ///< the symbols whose names are wanted; null: all symbols are
  WantedNames wanted;                  ///< those names

  std::unique_ptr<SymbolIndex> index;  ///< the symbols that were read
  std::vector<std::string> names;      ///< the names that were read
  std::string why;                     ///< why nothing was read, empty if it was
  bool isDone = false;
  bool isSlow = false;  ///< it takes longer: nobody waits for it
  bool isLate = false;  ///< nobody waits for it any more
};

/**
 * Has symbols read by parsers, on two threads: one for what is read at once, one for what takes longer. Whoever asks
 * waits for as long as he wants to. Root's files come first, and those of other users in turn; each thread has a parser
 * for root's files and one for those of others, which they may lead astray.
 */
class SymbolReader {
 public:
  using Clock = std::chrono::steady_clock;

  /// `parser`: the path of that program.
  explicit SymbolReader(const std::string& parser) : quick_(parser, kReadAtOnce), slow_(parser, kReadInTurn) {}
  ~SymbolReader();

  void post(std::shared_ptr<SymbolJob> job);
  /// Waits until some jobs are done, or are slow, no longer than until then. Returns sooner, with false, where much is
  /// to be taken meanwhile.
  bool wait(const std::vector<std::shared_ptr<SymbolJob>>& jobs, Clock::time_point until);
  /// Jobs that were done since the last call.
  std::vector<std::shared_ptr<SymbolJob>> takeDone();

 private:
  /// What was read and not taken yet: nothing more is read meanwhile.
  static constexpr size_t kMostFinished = 8 << 20;

  using Job = std::shared_ptr<SymbolJob>;

  struct Lane {
    Lane(const std::string& parser, const ParserLimits& limits) : ofRoot(parser, limits), ofUsers(parser, limits) {}

    Parser ofRoot, ofUsers;
    FairQueue<Job> queue;
    std::thread thread;         ///< begins with the first job
    bool worksForUser = false;  ///< its job is of a file that is not root's
  };

  static Parser& parserOf(Lane& lane, uint32_t owner) { return owner == 0 ? lane.ofRoot : lane.ofUsers; }
  void enter(Lane& lane, uint32_t owner, Job job);
  void work(Lane& lane);
  /// Reads for a job; false if it is one of those that take longer.
  bool attempt(Lane& lane, SymbolJob& job, uint32_t owner);
  void read(Lane& lane, SymbolJob& job, uint32_t owner);

  Lane quick_, slow_;
  Mutex mutex_;  ///< guards all that follows, the lanes but for their parsers, and whether a job is done
  Condition wake_, done_;
  std::vector<Job> finished_;
  size_t finishedBytes_ = 0;
  bool closing_ = false;
};

}  // namespace polytop
