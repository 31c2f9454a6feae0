// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bpf/abi.h"
#include "util/flat_map.h"

namespace polytop {

/**
 * Numbers threads as they are first met, so that JavaScript meets each once. A thread that says something else of
 * itself than before, as after an exec, is another one. When many were met that run no more, all are numbered anew.
 */
class Tasks {
 public:
  /// New threads, in columns, and their names.
  struct News {
    bool renewed = false;  ///< numbers begin anew with the first of these, from 0 on
    /// For each: pid, tid, pid of the parent, user, and where in `names` that of the process is and its own.
    std::vector<uint32_t> words;
    std::vector<double> startTimes;  ///< of the processes, milliseconds since boot
    std::vector<uint64_t> cgroups;
    std::vector<std::string> names;  ///< bytes as they are
  };

  /// The number of the thread that a count is of.
  uint32_t number(const count_key& key, const count_value& value);
  /// News since the last call.
  News take();
  /// Begins anew if far more threads are known than are met. `counted`: how many counts the latest drain had.
  void renewIfFull(size_t counted);

 private:
  /// So many are no reason to begin anew.
  static constexpr size_t kFewTasks = 4096;
  /// As many as in so many drains.
  static constexpr size_t kKeptDrains = 4;

  using Name = std::array<uint64_t, COMM_LENGTH / sizeof(uint64_t)>;
  static_assert(sizeof(Name) == COMM_LENGTH);

  /// Everything that a thread says of itself.
  struct Key {
    uint32_t tgid, tid, parent, uid;
    uint64_t cgroup, startTime;
    Name comm, thread;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };

  void add(const Key& key);
  uint32_t placeOf(const Name& name);

  FlatMap<Key, uint32_t, Hash> numbers_;  ///< each and 1
  size_t mostCounted_ = 0;                ///< in one of the latest drains
  News news_;
  std::map<Name, uint32_t> places_;  ///< in the names of the news
};

}  // namespace polytop
