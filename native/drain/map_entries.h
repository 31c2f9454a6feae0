// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/bpf.h>

#include <cerrno>
#include <cstdint>
#include <vector>

namespace polytop {

/// Takes the entries out of maps of the kernel, many at once.
template <typename Key, typename Value>
class MapEntries {
 public:
  /// Takes all entries out of a map and calls `take` with each key and value. False where the kernel refused to give
  /// some (errno).
  template <typename Take>
  bool takeAll(int mapFd, Take take) {
    uint32_t position = 0;
    for (bool first = true, more = true; more; first = false) {
      uint32_t count = kBatch;
      const int error = bpf_map_lookup_and_delete_batch(mapFd, first ? nullptr : &position, &position, keys_.data(),
                                                        values_.data(), &count, nullptr);
      more = error == 0;
      if (error && errno != ENOENT) return false;
      for (uint32_t i = 0; i < count; i++) take(keys_[i], values_[i]);
    }
    return true;
  }

 private:
  static constexpr uint32_t kBatch = 1024;

  std::vector<Key> keys_ = std::vector<Key>(kBatch);
  std::vector<Value> values_ = std::vector<Value>(kBatch);
};

}  // namespace polytop
