// SPDX-License-Identifier: Apache-2.0
//
// The memory that polytop and its reader of processes' memory (program/reader.cpp) share.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include "arch/arch.h"

namespace polytop {

/// Whose turn it is: a word that the other side sleeps on (futex(2)).
enum read_turn : uint32_t { READ_IDLE, READ_ASKED, READ_ANSWERED };

struct ReadRange {
  uint64_t address;
  int32_t pid;  ///< of a process, or of any thread of it
  uint32_t size;
  uint32_t got;  ///< bytes that could be read, from the start on
};

constexpr uint32_t kMaxRanges = 64;
constexpr uint32_t kReadBytes = 256 << 10;  ///< of all ranges of a request

struct ReadArea {
  std::atomic<uint32_t> turn;
  std::atomic<uint32_t> at;  ///< index of the range that is being read: whose process keeps the reader waiting
  uint32_t count;
  ReadRange ranges[kMaxRanges];
  alignas(64) uint8_t bytes[kReadBytes];  ///< those of all ranges, one after the other
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

/// The reader finds the area at this descriptor.
constexpr int kReadAreaFd = 3;
/// Looks at the word so many times before it sleeps: some 10 us, in which most answers and further requests come.
constexpr int kSpins = 300;

/// Waits until the turn is no longer `turn`, or the time is over. It may come back early.
inline void awaitTurn(std::atomic<uint32_t>& word, uint32_t turn, const timespec* timeout) {
  for (int i = 0; i < kSpins; i++) {
    if (word.load(std::memory_order_acquire) != turn) return;
    arch::pauseBriefly();
  }
  syscall(SYS_futex, &word, FUTEX_WAIT, turn, timeout, nullptr, 0);
}

inline void passTurn(std::atomic<uint32_t>& word, uint32_t turn) {
  word.store(turn, std::memory_order_release);
  syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace polytop
