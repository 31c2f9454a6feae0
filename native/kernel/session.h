// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bpf/abi.h"
#include "kernel/cpu_events.h"
#include "util/failure.h"
#include "util/file_descriptor.h"

namespace polytop {

struct SessionOptions {
  uint32_t frequency = 99;           ///< samples a second on each CPU: sizes the count maps
  double drainSeconds = 1;           ///< longest time between two drains: sizes the count maps
  bool withoutClock = false;         ///< the CPU's time is not sampled once the start is over
  uint32_t events = 0;               ///< how many other events share the count maps
  std::vector<uint32_t> targets;     ///< processes wanted; empty: all
  std::vector<EventSource> sources;  ///< the first that can be had is sampled; one at least
};

/// Makes the maps of the sampling object and has the kernel verify its programs. The object must be closed with
/// bpf_object__close(). Throws a Failure.
bpf_object* loadSamplingObject(const std::string& path);

/// The BPF object, loaded and attached to one sampling event on each online CPU.
/// Nothing is pinned: when the process ends in whatever way, nothing stays in the kernel.
class Session {
 public:
  Session() = default;
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Takes over a loaded object, and makes what the options ask for but the count maps, without sampling yet. Throws a
  /// Failure, as those that follow do.
  void start(bpf_object* object, const SessionOptions& options);
  /// Makes the count maps: samples are lost before.
  void createCountMaps(const SessionOptions& options);
  /// The sampling events; none is attached at first.
  CpuEvents& events() { return events_; }
  const CpuEvents& events() const { return events_; }
  /// Narrows sampling to these processes, in the kernel, from the next sample on. Empty: all.
  void setTargets(const std::vector<uint32_t>& targets);
  /// Samples from now on only what a thread starts, and what that starts in its turn, from its first instruction on.
  void followChildrenOf(uint32_t tid);
  /// Whether only some processes are sampled.
  bool isNarrowed() const { return *variables_.targetCount != 0; }
  /// Whether a process is sampled. Any thread may call it.
  bool isTarget(uint32_t tgid) const;

  uint32_t possibleCpus() const { return possibleCpus_; }

  /// The loaded object, whose maps another one may share.
  const bpf_object* object() const { return object_; }
  int mapFd(const char* name) const;
  int programFd(const char* name) const;
  /// The count map of a CPU in an epoch (0 or 1).
  int countMapFd(uint32_t epoch, uint32_t cpu) const;
  /// Makes the program write the other epoch and waits until no run writes the old one. Returns the old one.
  uint32_t switchEpoch();
  /// Waits until every run of the program that is under way has ended: some 10 ms.
  static void waitForRuns();
  /// Tells the program what settings of the kernel say by now.
  void followSettings();
  /// Makes every stack new to the program: it sends them all again.
  void renewStacks();
  /// Makes the program forget cached mappings, which may hold a file id that is taken back.
  void forgetMappings();
  /// Says that something is told of methods of .NET that it was not told of before.
  void announceDotnetRoles();
  /// Makes the program look into the map of Perl statements with several lines.
  void announcePerlSplits();

 private:
  /// The variables of bpf/ that user space writes, in the memory of the program.
  struct Variables {
    volatile uint32_t* epoch = nullptr;
    volatile uint32_t* targetCount = nullptr;
    volatile uint32_t* followedParent = nullptr;
    volatile uint64_t* generation = nullptr;
    volatile uint32_t* filesVersion = nullptr;
    volatile uint32_t* dotnetRolesVersion = nullptr;
    volatile uint32_t* hasPerlSplits = nullptr;
    volatile uint32_t* kernelStackLimit = nullptr;
  };

  struct Mapping {
    void* memory = nullptr;
    size_t size = 0;
  };

  void setCountMaps(const std::vector<uint32_t>& slots, const std::vector<int>& maps);
  void findVariables();

  bpf_object* object_ = nullptr;
  std::vector<bpf_link*> follows_;
  CpuEvents events_;
  std::vector<FileDescriptor> countMaps_;
  std::vector<uint32_t> targets_;
  Variables variables_;
  FileDescriptor stackSetting_;  ///< kernel.perf_event_max_stack, -1 where there is none
  std::vector<Mapping> mappings_;
  uint32_t possibleCpus_ = 0;
};

}  // namespace polytop
