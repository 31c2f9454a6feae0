// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "files/open_file.h"
#include "naming/symbol_reader.h"

namespace polytop {

/**
 * Keeps the symbols of all files together below a limit: those that were asked for longest ago go, and are read again
 * when they are asked for. Of one inode only the latest state has some. What is waited for in a refresh is bounded too:
 * what is read later is there for the next one. Only one thread may ask.
 */
class SymbolRoom {
 public:
  explicit SymbolRoom(SymbolReader& reader, size_t maxBytes = kMaxBytes) : reader_(reader), maxBytes_(maxBytes) {}

  /// Has the symbols of a file read that is about to be asked, where they are not there.
  void makeReady(const std::shared_ptr<OpenFile>& file);
  /// Has the names read that are wanted of a file.
  void readNames(const std::shared_ptr<OpenFile>& file);
  void beginRefresh();
  /// Whether a file had to wait since the last call that returned true; at most once in some seconds, since all frames
  /// are named anew for it.
  bool mustNameAgain();
  /// Which files could not be read since the last call, and why: for users.
  std::vector<std::string> takeNotices() { return std::exchange(notices_, {}); }
  /// How much memory the symbols of all files take.
  size_t bytes() const;

 private:
  using Clock = SymbolReader::Clock;
  /// The largest index has 48 MB.
  static constexpr size_t kMaxBytes = 96 << 20;
  static constexpr std::chrono::milliseconds kTimeInRefresh{400};
  static constexpr std::chrono::seconds kPause{10};
  static constexpr size_t kMaxNotices = 3;

  struct Held {
    std::weak_ptr<OpenFile> file;
    uint64_t usedAt;
  };

  /// Has a job done, and waits for it as long as there is time in this refresh.
  void attend(const std::shared_ptr<SymbolJob>& job);
  /// Gives the files what was read of them.
  void deliver();
  void notice(const SymbolJob& job);
  void hold(const std::shared_ptr<OpenFile>& file);

  SymbolReader& reader_;
  const size_t maxBytes_;
  std::vector<Held> held_;
  uint64_t uses_ = 0;
  Clock::duration spent_{};
  bool hasWaited_ = false;
  Clock::time_point namedAgain_;
  std::vector<std::string> notices_;
};

}  // namespace polytop
