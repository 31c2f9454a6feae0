// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>

#include "bpf/types.h"
#include "util/hash.h"

namespace polytop {

/// Counts how often a file is read because it changes: whoever writes to a large file all the time is not to keep a
/// CPU busy. Only one thread may use it at a time.
class Churn {
 public:
  /// Whether the file, whatever its content is now, may be read at a time in ns; it counts as read then.
  bool mayRead(const file_key& key, uint64_t now) {
    if (readings_.size() >= kMaxFiles) readings_.clear();
    Readings& readings = readings_[mix(key.inode, key.device)];
    if (now >= readings.since + kWindow) readings = {now, 0};
    return readings.count++ < kMost;
  }

 private:
  static constexpr uint64_t kWindow = 10'000'000'000;
  static constexpr uint32_t kMost = 6;
  static constexpr size_t kMaxFiles = 8192;

  struct Readings {
    uint64_t since = 0;
    uint32_t count = 0;
  };
  std::unordered_map<uint64_t, Readings> readings_;
};

}  // namespace polytop
