// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "files/open_file.h"
#include "naming/symbol_index.h"
#include "parser/parser.h"

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
  bool isLate = false;  ///< nobody waits for it any more
};

/**
 * Has symbols read by parsers, one job after the other on a thread of its own: whoever asks waits for as long as he
 * wants to. One parser is for root's files and one for those of others, which they may lead astray.
 */
class SymbolReader {
 public:
  using Clock = std::chrono::steady_clock;

  /// `parser`: the path of that program.
  explicit SymbolReader(const std::string& parser)
      : parserOfRoot_(parser, kMostCpu), parserOfUsers_(parser, kMostCpu) {}
  ~SymbolReader();

  void post(std::shared_ptr<SymbolJob> job);
  /// Waits until a job is done, no longer than until then.
  bool wait(const SymbolJob& job, Clock::time_point until);
  /// Jobs that were done since the last call.
  std::vector<std::shared_ptr<SymbolJob>> takeDone();
  /// CPU time of the parsers that run now, in nanoseconds.
  uint64_t cpuNanoseconds() const { return parserOfRoot_.cpuNanoseconds() + parserOfUsers_.cpuNanoseconds(); }

 private:
  /// The largest table takes a tenth of that.
  static constexpr uint64_t kMostCpu = 3'000'000'000;

  void work();
  void read(SymbolJob& job);

  Parser parserOfRoot_, parserOfUsers_;
  std::mutex mutex_;  ///< guards all that follows, and whether a job is done
  std::condition_variable wake_, done_;
  std::deque<std::shared_ptr<SymbolJob>> queue_;
  std::vector<std::shared_ptr<SymbolJob>> finished_;
  bool closing_ = false;
  std::thread thread_;  ///< begins with the first job
};

}  // namespace polytop
