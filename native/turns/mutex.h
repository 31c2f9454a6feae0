// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <time.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <system_error>

namespace polytop {

/**
 * A mutex whose holder runs as early as whoever waits for it. A thread that comes first (first_turn.h) would else wait
 * for one that is some hundredth of many, seconds for a lock that is held for microseconds. To be used as std::mutex.
 */
class Mutex {
 public:
  Mutex() {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    // Without FUTEX_LOCK_PI in the kernel it is one as any other.
    if (pthread_mutex_init(&mutex_, &attributes) != 0) pthread_mutex_init(&mutex_, nullptr);
    pthread_mutexattr_destroy(&attributes);
  }
  ~Mutex() { pthread_mutex_destroy(&mutex_); }
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  /// Throws a std::system_error where the kernel has no memory for it.
  void lock() {
    const int error = pthread_mutex_lock(&mutex_);
    if (error != 0) throw std::system_error(error, std::generic_category());
  }
  void unlock() { pthread_mutex_unlock(&mutex_); }
  pthread_mutex_t* native() { return &mutex_; }

 private:
  pthread_mutex_t mutex_;
};

/// A std::condition_variable for a Mutex. (std::condition_variable_any has a std::mutex of its own, which whoever
/// wakes others holds meanwhile.)
class Condition {
 public:
  using Clock = std::chrono::steady_clock;

  Condition() {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&condition_, &attributes);
    pthread_condattr_destroy(&attributes);
  }
  ~Condition() { pthread_cond_destroy(&condition_); }
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  void notifyAll() { pthread_cond_broadcast(&condition_); }
  void wait(std::unique_lock<Mutex>& lock) { pthread_cond_wait(&condition_, lock.mutex()->native()); }
  template <typename Predicate>
  void wait(std::unique_lock<Mutex>& lock, Predicate holds) {
    while (!holds()) wait(lock);
  }
  /// Returns whether the predicate holds.
  template <typename Predicate>
  bool waitUntil(std::unique_lock<Mutex>& lock, Clock::time_point until, Predicate holds) {
    const int64_t time = std::chrono::nanoseconds(until.time_since_epoch()).count();
    const timespec end = {time / 1'000'000'000, time % 1'000'000'000};
    while (!holds()) {
      if (pthread_cond_timedwait(&condition_, lock.mutex()->native(), &end) == ETIMEDOUT) return holds();
    }
    return true;
  }

 private:
  pthread_cond_t condition_;
};

}  // namespace polytop
