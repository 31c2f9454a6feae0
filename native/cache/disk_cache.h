// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bpf/types.h"
#include "turns/mutex.h"
#include "util/file_descriptor.h"

namespace polytop {

/// What an entry of the cache was made of, and as what.
struct CacheKey {
  file_key file = {};
  uint64_t size = 0;
  uint64_t maker = 0;  ///< a hash of the code that makes and reads entries
};

/**
 * Keeps what was made of files in a folder of its own, from one run to the next. The folder and all in it belong to
 * the user that runs this and can be entered by nobody else, or nothing is read or written. What is read was not
 * changed by accident: a checksum stands before it; who could change it on purpose could do so to this program. Entries
 * longest unused go when all together are too large.
 */
class DiskCache {
 public:
  ~DiskCache() { close(); }

  /// Opens `polytop` in a folder, and makes it where it is missing; stays closed where that is not safe.
  void open(const std::string& parent);
  void close();
  bool isOpen() const { return folder_.valid(); }

  /// What was written for the key. Any thread may call it.
  std::optional<std::vector<uint8_t>> read(const CacheKey& key);
  /// Writes an entry, on a thread of its own. Any thread may call it.
  void write(const CacheKey& key, std::vector<uint8_t> content);
  /// Takes back an entry that turned out to be of no use.
  void remove(const CacheKey& key);

 private:
  struct Job {
    CacheKey key;
    std::vector<uint8_t> content;
  };

  void work();
  void writeNow(const Job& job);
  /// Removes entries until all together are small enough, and what was left half written.
  void shrink();

  FileDescriptor folder_;
  Mutex mutex_;  ///< guards the queue
  Condition wake_;
  std::deque<Job> queue_;
  size_t queuedBytes_ = 0;
  bool closing_ = false;
  std::thread writer_;
  uint64_t bytes_ = 0;  ///< of all entries, about; of the writer
};

/// A hash of the code of this program, by the build-id that its linker wrote; 0 where there is none.
uint64_t ownBuild();

}  // namespace polytop
