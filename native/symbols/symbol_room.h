// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "files/open_file.h"

namespace polytop {

/**
 * Keeps the symbols of all files together below a limit: those that were asked for longest ago go, and are read again
 * when they are asked for. Of one inode only the latest state has some. What is read in a refresh is bounded too: the
 * rest waits for the next one. Only one thread may ask.
 */
class SymbolRoom {
 public:
  explicit SymbolRoom(size_t maxBytes = kMaxBytes) : maxBytes_(maxBytes) {}

  /// Reads the symbols of a file that is about to be asked, where they are not there and there is time.
  void makeReady(const std::shared_ptr<OpenFile>& file);
  void beginRefresh() { spent_ = {}; }
  /// Whether a file had to wait since the last call that returned true; at most once in some seconds, since all frames
  /// are named anew for it.
  bool mustNameAgain();
  /// How much memory the symbols of all files take.
  size_t bytes() const;

 private:
  using Clock = std::chrono::steady_clock;
  /// The largest index has 48 MB.
  static constexpr size_t kMaxBytes = 96 << 20;
  static constexpr std::chrono::milliseconds kTimeInRefresh{400};
  static constexpr std::chrono::seconds kPause{10};

  struct Held {
    std::weak_ptr<OpenFile> file;
    uint64_t usedAt;
  };

  void hold(const std::shared_ptr<OpenFile>& file);

  const size_t maxBytes_;
  std::vector<Held> held_;
  uint64_t uses_ = 0;
  Clock::duration spent_{};
  bool hasWaited_ = false;
  Clock::time_point namedAgain_;
};

}  // namespace polytop
