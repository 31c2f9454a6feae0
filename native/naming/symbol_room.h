// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "files/open_file.h"
#include "naming/symbol_reader.h"

namespace polytop {

/**
 * Keeps the symbols of all files together below a limit: those that were asked for longest ago go, and are read again
 * when they are asked for. A user's files make room for each other, root's find it at those of all users. Of one inode
 * only the latest state has some. What is waited for in a refresh is bounded too: what is read later is there for the
 * next one. Only one thread may ask.
 */
class SymbolRoom {
 public:
  explicit SymbolRoom(SymbolReader& reader, size_t maxBytes = kMaxBytes) : reader_(reader), maxBytes_(maxBytes) {}

  /// Has the symbols of files read that are about to be asked, where they are not there. All are asked for before one
  /// is waited for: whose file is read first does not depend on their order.
  void makeReady(const std::vector<std::shared_ptr<OpenFile>>& files);
  /// Has the names read that are wanted of files, in the same way.
  void readNames(const std::vector<std::shared_ptr<OpenFile>>& files);
  void beginRefresh();
  /// Forgets the names of all files, as happens from time to time: most were of functions that are not met again.
  void forgetNames();
  /// Whether a file had to wait since the last call that returned true; at most once in some seconds, since all frames
  /// are named anew for it.
  bool mustNameAgain();
  /// Which files could not be read since the last call, and why: for users.
  std::vector<std::string> takeNotices() { return std::exchange(notices_, {}); }
  /// How much memory the symbols of all files take.
  size_t bytes() const { return bytesOf(std::nullopt); }

 private:
  using Clock = SymbolReader::Clock;
  /// Some five million functions. The largest file seen has a million.
  static constexpr size_t kMaxBytes = 64 << 20;
  static constexpr std::chrono::milliseconds kTimeInRefresh{400};
  /// For files that are not root's it is less, and a part of the time in the long run: a user may have something to
  /// read always.
  static constexpr std::chrono::milliseconds kTimeForUsers{200};
  static constexpr int kPartForUsers = 10;
  static constexpr std::chrono::seconds kPause{10};
  static constexpr std::chrono::minutes kNamesKept{10};
  static constexpr size_t kMaxNotices = 3;

  struct Held {
    std::weak_ptr<OpenFile> file;
    uint32_t owner;
    uint64_t usedAt;
  };

  template <typename Visit>
  void eachIndex(Visit visit) const;

  using Jobs = std::vector<std::shared_ptr<SymbolJob>>;

  /// Has jobs done, and waits for them as long as there is time in this refresh.
  void attend(const Jobs& jobs);
  /// Waits for jobs, and takes what is done meanwhile.
  void await(const Jobs& jobs, Clock::time_point until);
  /// How long may be waited for files that are not root's by now.
  Clock::duration timeForUsers(Clock::time_point now);
  /// Gives the files what was read of them.
  void deliver();
  void notice(const OpenFile& file, const std::string& why);
  void hold(const std::shared_ptr<OpenFile>& file);
  /// Lets symbols go, those that were asked for longest ago, for a file of a user. False where none may.
  bool letOldestGo(uint32_t owner);
  /// How much the symbols of one user's files take, or of all files.
  size_t bytesOf(std::optional<uint32_t> owner) const;

  SymbolReader& reader_;
  const size_t maxBytes_;
  std::vector<Held> held_;
  uint64_t uses_ = 0;
  Clock::duration spent_{};
  Clock::duration savedForUsers_ = kTimeForUsers;
  Clock::time_point savedUntil_ = Clock::now();
  bool hasWaited_ = false;
  Clock::time_point namedAgain_;
  Clock::time_point namesForgotten_ = Clock::now();
  std::vector<std::string> notices_;
};

}  // namespace polytop
