// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "bpf/totals.h"
#include "kernel/session.h"
#include "kernel/wait_object.h"
#include "turns/mutex.h"

namespace polytop {

/**
 * Sweeps over all threads ten times a second on a thread of its own, at uneven times, so that nothing that happens at
 * even times is met always or never. Where most threads move, or only some processes are looked at, they come up to
 * fifty times a second: threads that sleep in phase are met as if they were one, and the shares of their waits need
 * many looks. Where a sweep takes long they are further apart: all of them together never take more than one percent of
 * a CPU.
 */
class Sweeper {
 public:
  ~Sweeper() { stop(); }

  /// Begins to load the second object on a thread of its own, for start() to take. Both must outlive the sweeper.
  void prepare(const std::string& objectPath, const Session& session);
  /// Loads the second object and sweeps from now on. Throws a Failure where this machine cannot.
  void start(const std::string& objectPath, const Session& session);
  void stop();
  bool isRunning() const { return object_ != nullptr; }
  /// Sweeps once more if that is not too dear, then calls `read` while no sweep is under way, with what the sweeps
  /// counted since start(). Throws a Failure, also one of the sweeps since the last call.
  void collect(const std::function<void(const WaitObject&, uint64_t sweep, const cpu_totals&)>& read);
  /// Sweeps anew: what was waiting until now is not counted. Returns how many stacks ended in files that are not known
  /// yet. Throws a Failure.
  uint64_t restart();
  /// CPU time of the sweeps until now, in nanoseconds.
  uint64_t cpuNanoseconds() const { return cpuNanoseconds_; }

 private:
  void run();
  void sweep();
  double interval() const;
  bool isDear(uint64_t now) const;

  /// A mean over the latest sweeps.
  class Mean {
   public:
    void add(double value);
    double value() const { return value_; }

   private:
    double value_ = 0;
    uint32_t count_ = 0;
  };

  const Session* session_ = nullptr;
  std::future<std::unique_ptr<WaitObject>> prepared_;
  std::unique_ptr<WaitObject> object_;
  std::thread thread_;
  Mutex mutex_;  ///< guards everything below
  Condition wake_;
  bool stopping_ = false;
  uint64_t sweeps_ = 0;
  uint64_t began_ = 0;  ///< the latest sweep, CLOCK_MONOTONIC
  uint64_t cost_ = 0;   ///< its CPU time, in nanoseconds
  Mean meanCost_;
  Mean movedShare_;         ///< of the threads that a sweep visited, those that were switched to since the one before
  cpu_totals totals_ = {};  ///< after the latest sweep
  uint64_t cpuNanoseconds_ = 0;
  std::string failure_;
  int error_ = 0;
};

}  // namespace polytop
