// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "memory/memory_reader.h"
#include "util/hash.h"

namespace polytop {

/**
 * Pages of processes' memory as they were at one time. Each request of the reader costs two switches of threads, so
 * whoever follows pointers goes as far as the pages lead that are here, lets all that are missing be read at once,
 * and begins anew.
 */
class ReadPages {
 public:
  explicit ReadPages(MemoryReader& memory) : memory_(memory) {}

  enum class Found { kHere, kAwaited, kMissing };
  /// Copies what is here. A page that is awaited will be read by fetch(), one that is missing cannot be read.
  Found copy(pid_t pid, uint64_t address, void* into, size_t size);
  /// Reads the pages that are awaited.
  void fetch();
  /// Forgets all pages.
  void clear();

 private:
  static constexpr uint64_t kPage = 4096;
  static constexpr size_t kMaxPages = 2048;
  /// The memory of so many stays when they are forgotten: the next ones are about as many.
  static constexpr size_t kKeptPages = 256;

  using Page = std::array<uint8_t, kPage>;
  struct Key {
    pid_t pid;
    uint64_t page;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& it) const { return mix(it.page, static_cast<uint64_t>(it.pid)); }
  };

  struct Place {
    Found found = Found::kAwaited;
    Page* page = nullptr;
  };

  const Place& find(pid_t pid, uint64_t page);
  Page* unusedPage();

  MemoryReader& memory_;
  std::unordered_map<Key, Place, KeyHash> pages_;
  std::vector<Key> awaited_;
  std::vector<std::unique_ptr<Page>> room_;
  size_t used_ = 0;  ///< of room_
};

}  // namespace polytop
