// SPDX-License-Identifier: Apache-2.0
#include "kernel/sweeper.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>

#include "turns/priority.h"
#include "util/clock.h"

namespace polytop {

namespace {

/// Sweeps are so far apart at least and, unless they are dear, at most.
constexpr double kShortest = 20e6;
constexpr double kLongest = 100e6;
/// The part of the interval by which it is longer or shorter at most.
constexpr double kJitter = 0.5;
/// A sweep may be one part in so many of the time between two.
constexpr uint64_t kCostShare = 100;
/// A sweep that is dearer than the mean by more than this puts off the next one.
constexpr uint64_t kPeak = 4;
/// Means are of so many sweeps, about: of some seconds.
constexpr uint32_t kRemembered = 64;
/// A refresh that ends sooner than this behind a sweep needs no other one.
constexpr uint64_t kFresh = 20'000'000;

/// Room for several stacks of each thread in a refresh, and for threads that are yet to come.
constexpr uint32_t kRowsPerThread = 4;
constexpr uint32_t kFewestRows = 8192;
constexpr uint32_t kMostRows = 131072;

/// How many threads the machine has: the fourth field of /proc/loadavg is `running/all`, see proc_loadavg(5).
uint32_t countThreads() {
  std::ifstream file("/proc/loadavg");
  std::string skipped;
  file >> skipped >> skipped >> skipped;
  uint32_t running = 0, all = 0;
  char slash = 0;
  file >> running >> slash >> all;
  return all;
}

std::unique_ptr<WaitObject> load(const std::string& objectPath, const Session& session) {
  auto object = std::make_unique<WaitObject>();
  const uint32_t rows = std::clamp(kRowsPerThread * countThreads(), kFewestRows, kMostRows);
  object->load(objectPath, session.object(), session.possibleCpus(), rows);
  return object;
}

}  // namespace

void Sweeper::prepare(const std::string& objectPath, const Session& session) {
  prepared_ = std::async(std::launch::async, [objectPath, &session] {
    raisePriority();
    return load(objectPath, session);
  });
}

void Sweeper::start(const std::string& objectPath, const Session& session) {
  if (isRunning()) return;
  object_ = prepared_.valid() ? prepared_.get() : load(objectPath, session);
  session_ = &session;
  totals_ = {};
  stopping_ = false;
  sweep();
  // It walked all threads, those that follow walk what has moved: its cost says nothing of theirs, and time is counted
  // from the second one on.
  cost_ = 0;
  meanCost_ = movedShare_ = {};
  thread_ = std::thread([this] { run(); });
}

void Sweeper::stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notifyAll();
  thread_.join();
  object_.reset();
}

void Sweeper::run() {
  std::minstd_rand random(std::random_device{}());
  std::uniform_real_distribution<double> jitter(1 - kJitter, 1 + kJitter);
  std::unique_lock lock(mutex_);
  double spread = jitter(random);
  while (!stopping_) {
    const auto wanted = static_cast<uint64_t>(interval() * spread);
    const uint64_t next = began_ + std::max(wanted, kCostShare * cost_ / kPeak);
    const uint64_t now = clockNanoseconds(CLOCK_MONOTONIC);
    if (next > now) {
      wake_.waitUntil(lock, Condition::Clock::now() + std::chrono::nanoseconds(next - now),
                      [this] { return stopping_; });
      continue;
    }
    spread = jitter(random);
    try {
      sweep();
    } catch (const Failure& failure) {
      failure_ = failure.what();
      error_ = failure.error();
      return;
    }
  }
}

void Sweeper::sweep() {
  wait_settings settings = object_->settings();
  settings.sweep = sweeps_ + 1;
  settings.previous = began_;
  const uint64_t began = clockNanoseconds(CLOCK_MONOTONIC);
  const uint64_t used = clockNanoseconds(CLOCK_THREAD_CPUTIME_ID);
  object_->sweep(settings);
  const cpu_totals before = totals_;
  object_->sumTotals(totals_);
  const auto newOf = [&](uint32_t id) { return static_cast<double>(totals_.counters[id] - before.counters[id]); };
  movedShare_.add(newOf(COUNTER_WaitWalks) / std::max(1.0, newOf(COUNTER_WaitVisits)));
  cost_ = clockNanoseconds(CLOCK_THREAD_CPUTIME_ID) - used;
  meanCost_.add(static_cast<double>(cost_));
  cpuNanoseconds_ += cost_;
  began_ = began;
  sweeps_++;
}

void Sweeper::Mean::add(double value) {
  count_ = std::min(count_ + 1, kRemembered);
  value_ += (value - value_) / count_;
}

/// How long after a sweep the next one is wanted, in nanoseconds: the more of the threads move from one to the next,
/// the sooner. The time of a thread that has not moved is known however late it is met; that of one that has is a
/// matter of chance. What a thread did before it moved is counted as what it does now: so the time of the next sweep
/// must not depend on what the latest one met, else what threads do together would be met too often or too rarely.
double Sweeper::interval() const {
  const double dear = kCostShare * meanCost_.value();
  // Somebody who asks for few processes may be after any of their threads.
  const double share = session_->isNarrowed() ? 1 : std::max(movedShare_.value(), 1e-3);
  return std::max(dear, std::clamp(dear / share, kShortest, kLongest));
}

/// Whether a sweep now would be more than its share since the one before.
bool Sweeper::isDear(uint64_t now) const {
  return static_cast<double>(now - began_) < std::max<double>(kFresh, kCostShare * meanCost_.value());
}

void Sweeper::collect(const std::function<void(const WaitObject&, uint64_t, const cpu_totals&)>& read) {
  std::lock_guard lock(mutex_);
  if (!failure_.empty()) throw Failure(failure_, error_);
  if (!isDear(clockNanoseconds(CLOCK_MONOTONIC))) sweep();
  read(*object_, sweeps_, totals_);
}

uint64_t Sweeper::restart() {
  std::lock_guard lock(mutex_);
  const uint64_t before = totals_.counters[COUNTER_UnwindNativeErrFilePending];
  // No thread was met by the sweep before the one that comes now: all of them are new to it.
  sweeps_++;
  began_ = 0;
  sweep();
  return totals_.counters[COUNTER_UnwindNativeErrFilePending] - before;
}

}  // namespace polytop
