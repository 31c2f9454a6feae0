// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "mapped/mapped_file.h"
#include "turns/mutex.h"

namespace polytop {

/// The name of a file system that another process or another machine answers for, by its magic number; empty for
/// any other. Whoever reads from such a one may wait for ever.
std::string_view remoteFileSystem(uint32_t magic);

/// Says the same by the type in mountinfo, e.g. `fuse.sshfs`.
bool isRemoteType(std::string_view type);

/**
 * Opens files of remote file systems, on a thread of its own and without ever waiting for them: a child process,
 * which can be killed, copies the file to a nameless one on this machine's disk. What is read later, names say, is
 * read from the copy. A file system that does not answer is left alone for a minute.
 */
class RemoteFiles {
 public:
  using Opened = std::function<void(const file_record&, MappedFile)>;

  ~RemoteFiles() { close(); }

  /// `opened` is called on the thread, with the copy or with why there is none.
  void start(Opened opened);
  void request(const file_record& record);
  /// Ends the thread, also while a file system lets it wait.
  void close();

 private:
  using Clock = std::chrono::steady_clock;

  void work();
  MappedFile copy(const file_record& record);

  Opened opened_;
  Mutex mutex_;  ///< guards queue_
  Condition wake_;
  std::deque<file_record> queue_;
  std::atomic<bool> closing_ = false;
  std::thread thread_;
  std::unordered_map<uint32_t, Clock::time_point> silentUntil_;  ///< by device
  std::vector<std::weak_ptr<const off_t>> copies_;               ///< MappedFile::copied of those that are open
};

}  // namespace polytop
