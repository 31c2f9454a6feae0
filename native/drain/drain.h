// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bpf/totals.h"
#include "dotnet/methods.h"
#include "drain/frame_lines.h"
#include "drain/map_entries.h"
#include "drain/stacks.h"
#include "drain/tasks.h"
#include "drain/unsampled.h"
#include "drain/waits.h"
#include "events/events.h"
#include "files/files.h"
#include "kernel/session.h"
#include "turns/mutex.h"
#include "util/reader_thread.h"

namespace polytop {

/// How much stacks weighed in threads, in columns.
struct DrainedCounts {
  std::vector<uint32_t> stacks, tasks;  ///< their numbers
  std::vector<uint32_t> events;
  std::vector<double> weights;

  void add(uint32_t stack, uint32_t task, uint32_t event, double weight) {
    stacks.push_back(stack);
    tasks.push_back(task);
    events.push_back(event);
    weights.push_back(weight);
  }

  /// Puts them in the order of their stacks: a stack shares most with the one before.
  void sort();
};

/// Where threads waited, in columns.
struct DrainedWaits {
  std::vector<uint32_t> stacks, tasks;  ///< their numbers
  std::vector<double> nanoseconds;
  /// Nanoseconds that the thread's latest wait there has lasted; negative: it is in another one now.
  std::vector<double> ages;
  std::vector<uint32_t> owners;  ///< three for each: struct wait_owners
};

/// What was sampled since the last drain.
struct Drained {
  double seconds = 0;
  /// When the drain was, ns since 1970 by the clock of the start: that clock may be set while polytop runs, and no time
  /// between two drains may change by it.
  uint64_t time = 0;
  uint64_t samples = 0;
  uint64_t missed = 0;
  uint64_t bpfNanoseconds = 0;
  uint64_t ticks = 0;                            ///< of the sampling event, on all CPUs, idle ones too
  std::array<uint64_t, COUNTERS> counters = {};  ///< increments, by counter id
  DrainedCounts counts;
  /// For each event beside the CPU's time: number, hits, walks, hits that no stack was counted for.
  std::vector<double> events;
  Tasks::News tasks;
  uint64_t sweeps = 0;  ///< over all threads
  DrainedWaits waits;
  /// For each process: pid, start in milliseconds since boot, threads, nanoseconds of running, of waiting for a CPU,
  /// and of waiting for anything else.
  std::vector<double> waitTimes;
  Stacks::News news;
  std::vector<FileInfo> files;
  std::vector<uint32_t> closedFiles;  ///< ids that may be given to other files later
  std::vector<std::string> notices;   ///< what the user must know of how they were read
};

/// Reads what the BPF program counted. A thread of its own empties the ring buffer
/// when it fills and hands requests for files on; drain() is called by one thread at a time.
class Drain {
 public:
  Drain() = default;
  ~Drain();

  /// `byFunction`: stacks of the same functions are one. Throws a Failure.
  void open(Session& session, Files& files, Methods& methods, MemoryReader& memory, bool byFunction);
  void close();
  /// Takes everything since the last call. Waits for the runs that are under way: some 10 ms.
  Drained drain();
  /// Hands on what the program sent until now, which waits for a drain else, or for its thread to have its turn.
  void consume();
  /// Leaves out of the next drain what was counted until now; what became known of stacks and files stays
  /// in it.
  void restart();
  /// Frames start anew with the next drain; those that are met no more are forgotten with the renewal behind it. The
  /// functions of all numbers but these were forgotten already.
  void askForRenewal(std::vector<uint32_t> functions) { keptFunctions_ = std::move(functions); }
  /// For how long it was sampled since the last drain or restart.
  double sampledSeconds() const;
  /// The CPU time of all child processes until now, less commands'.
  uint64_t childNanoseconds() const;
  /// Drains what events count too, from now on; they must stay.
  void countEvents(Events* events) { events_ = events; }
  /// Drains what a sweeper counts too, from now on; it must stay until another one, or none, is given.
  void sweepWith(Sweeper* sweeper);
  /// The number of a process's frame by its word; 0 if it has none.
  uint32_t frameNumber(uint64_t word, uint32_t pid);

 private:
  /// The bit that tells numbers of methods from those of code of files.
  static constexpr uint32_t kMethod = Naming::kLastFunction + 1;

  static int onRecord(void* context, void* data, size_t size);
  void take(const void* data, size_t size);
  void addStack(const stack_record& record);
  /// Takes in the stacks with frames of interpreters, with their lines.
  void addInterpreted();
  void numberStacks();
  /// Its function is that of code of a file, or of a method of one (kMethod).
  Stacks::FrameFacts factsOf(const Stacks::NewFrame& frame);
  void readCounts(uint32_t epoch, Drained& drained);
  void readWaits(Drained& drained);
  void touchFiles(uint64_t now);
  void readCounters(Drained& drained);
  void readEvents(Drained& drained);
  /// Counts the softirqs that this kernel does not let be sampled.
  void countUnsampled(const std::vector<cpu_totals>& totals, Drained& drained);
  void renewIfFull(size_t counted);
  void renewFrames();

  Session* session_ = nullptr;
  Files* files_ = nullptr;
  Methods* methods_ = nullptr;
  MemoryReader* memory_ = nullptr;
  ring_buffer* ring_ = nullptr;
  ReaderThread reader_;
  Mutex ringMutex_;  ///< guards the ring buffer's reader side, stacks_ and lines_
  Stacks stacks_;
  Tasks tasks_;
  std::vector<std::unique_ptr<FrameLines>> lines_;  ///< of each interpreter
  InterpretedStacks interpreted_;                   ///< their lines are read together
  MapEntries<count_key, count_value> countEntries_;
  std::bitset<1 << 16> sampledFiles_;                   ///< by id: in a stack that was counted since the last drain
  std::optional<std::vector<uint32_t>> keptFunctions_;  ///< a renewal is asked for

  uint64_t bootedAt_ = 0;  ///< ns since 1970, as the clock said at the start
  uint64_t lastTime_ = 0;
  cpu_totals lastTotals_ = {};  ///< of all CPUs
  Unsampled unsampled_;
  uint64_t unsampledAt_ = 0;  ///< when it was looked at last

  Events* events_ = nullptr;
  Sweeper* sweeper_ = nullptr;
  Waits waits_;
  cpu_totals lastWaitTotals_ = {};
};

}  // namespace polytop
