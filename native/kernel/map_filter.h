// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/perf_event.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "bpf/abi.h"

namespace polytop {

/// What follows the header of a PERF_RECORD_MMAP2 (linux/perf_event.h); the path follows.
struct MapRecord {
  uint32_t pid, tid;
  uint64_t start, size, offset;
  uint32_t major, minor;
  uint64_t inode, generation;
  uint32_t protection, flags;
};

/// Code of a file that a process maps.
struct MappedCode {
  uint32_t pid = 0;
  uint64_t start = 0;
  std::string_view path;  ///< in the event
};

/// Nothing where the event maps none.
std::optional<MappedCode> mappedCode(const perf_event_header& event);

/// Tells the first executable mapping of a file from all others, which are many thousands a second where short
/// programs run.
class MapFilter {
 public:
  /// What is to be asked of the file that the event maps; nothing where it is known already, or no file with code.
  std::optional<file_record> unknownFile(const perf_event_header& event) const;
  /// From now on the file is known.
  void remember(const file_record& record);
  /// What was known is not any more: files that were not sampled for a while are let go.
  void forget() { known_.clear(); }

 private:
  static constexpr size_t kMaxKnown = 65536;

  static uint64_t identityOf(uint64_t inode, uint32_t device, uint32_t generation);

  std::unordered_set<uint64_t> known_;  ///< hashes of the identities of files
};

/**
 * How long mappings are gathered before they are looked at. The loader of a program maps its libraries at once, and
 * where known programs start all the time a wake-up for each would cost more than all else: the pause doubles
 * while nothing new comes.
 */
class GatheringPause {
 public:
  using Milliseconds = std::chrono::milliseconds;

  static constexpr Milliseconds kShortest{4};
  /// The kernel's buffer holds more mappings than come in this time.
  static constexpr Milliseconds kLongest{64};

  Milliseconds length() const { return length_; }
  /// Something unknown was mapped, or nothing at all for a while: the next mapping may be that of a new program.
  void shorten() { length_ = kShortest; }
  /// Only known files were mapped.
  void lengthen() { length_ = std::min(2 * length_, kLongest); }

 private:
  Milliseconds length_ = kShortest;
};

}  // namespace polytop
