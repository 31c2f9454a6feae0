// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "bpf/abi.h"

namespace polytop {

/// A thread that was sampled, as the kernel knew it.
struct TaskInfo {
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint32_t parent = 0;
  uint32_t uid = 0;
  uint64_t cgroup = 0;
  uint64_t startTime = 0;  ///< nanoseconds since boot
  std::string comm;        ///< bytes as they are
  std::string thread;
};

/// Numbers the threads of one drain as they are met.
class Tasks {
 public:
  /// The index in `into` of the thread that a count is of; it is put there when it is new.
  uint32_t number(const count_key& key, const count_value& value, std::vector<TaskInfo>& into);

 private:
  /// An exec gives a thread another name: samples from before it and after it are those of two.
  struct Key {
    uint32_t tgid;
    uint32_t tid;
    uint64_t comm[COMM_LENGTH / sizeof(uint64_t)];
    bool operator==(const Key&) const = default;
  };
  static_assert(COMM_LENGTH == 2 * sizeof(uint64_t));

  struct Hash {
    size_t operator()(const Key& key) const;
  };

  std::unordered_map<Key, uint32_t, Hash> numbers_;
};

}  // namespace polytop
