// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bpf/abi.h"
#include "util/failure.h"
#include "util/file_descriptor.h"

namespace polytop {

/// A counter of the kernel that takes a sample each time it overflows; src/tick/events.ts lists them.
struct EventSource {
  std::string name;
  uint32_t type = 0;  ///< of perf_event_attr, as is the next
  uint64_t config = 0;
  bool isClock = false;  ///< it overflows at even times
};

struct SessionOptions {
  std::string objectPath;            ///< the compiled BPF object
  uint32_t frequency = 99;           ///< samples a second on each CPU: sizes the count maps
  double drainSeconds = 1;           ///< longest time between two drains: sizes the count maps
  std::vector<uint32_t> targets;     ///< processes wanted; empty: all
  std::vector<EventSource> sources;  ///< the first that can be had is sampled; one at least
};

/// The BPF object, loaded and attached to one sampling event on each online CPU.
/// Nothing is pinned: when the process ends in whatever way, nothing stays in the kernel.
class Session {
 public:
  Session() = default;
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Loads the object and makes its maps, without sampling yet. Throws a Failure, as those that follow do.
  void load(const SessionOptions& options);
  /// Opens and starts the sampling event on each online CPU, at `frequency` samples a second: of the first source
  /// that can be had.
  void attach(uint32_t frequency);
  /// Whether the events count, asked after a CPU was busy. Some hypervisors have a PMU that never does: then
  /// nothing is attached any more, and the next attach() takes the next source.
  bool trustEvents();
  /// Stops sampling; attach() may follow.
  void detach();
  /// Changes the rate of the running events; nothing that they counted is lost. After a Failure some CPUs have the
  /// new rate.
  void setFrequency(uint32_t frequency);
  /// Follows CPUs that came online or went offline since. Returns how many events are running.
  size_t followCpus();
  /// Narrows sampling to these processes, in the kernel, from the next sample on. Empty: all.
  void setTargets(const std::vector<uint32_t>& targets);
  /// Whether a process is sampled. Any thread.
  bool isTarget(uint32_t tgid) const;

  /// The source that is sampled.
  const EventSource& source() const { return sources_.front(); }
  uint32_t frequency() const { return frequency_; }
  uint32_t possibleCpus() const { return possibleCpus_; }
  uint32_t onlineCpus() const { return onlineCpus_; }

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
  /// Makes every stack new to the program: it sends them all again.
  void renewStacks();
  /// Makes the program forget cached mappings, which may hold a file id that is taken back.
  void forgetMappings();
  /// Makes the program look into the map of Perl statements with several lines.
  void announcePerlSplits();

 private:
  struct Event {
    uint32_t cpu = 0;
    int fd = -1;
    bpf_link* link = nullptr;
  };

  /// The variables of bpf/ that user space writes, in the memory of the program.
  struct Variables {
    volatile uint32_t* epoch = nullptr;
    volatile uint32_t* targetCount = nullptr;
    volatile uint64_t* generation = nullptr;
    volatile uint32_t* filesVersion = nullptr;
    volatile uint64_t* period = nullptr;
    volatile uint32_t* hasPerlSplits = nullptr;
  };

  struct Mapping {
    void* memory = nullptr;
    size_t size = 0;
  };

  void createCountMaps(const SessionOptions& options);
  void findVariables();
  int openEvent(uint32_t cpu) const;
  void startEvent(uint32_t cpu);
  uint64_t fixedPeriod() const;
  void stopEvent(Event& event);

  bpf_object* object_ = nullptr;
  bpf_program* program_ = nullptr;
  std::vector<Event> events_;
  std::vector<FileDescriptor> countMaps_;
  std::vector<uint32_t> targets_;
  Variables variables_;
  std::vector<Mapping> mappings_;
  uint32_t possibleCpus_ = 0;
  uint32_t onlineCpus_ = 0;
  bool isAttached_ = false;
  uint32_t frequency_ = 99;
  std::vector<EventSource> sources_;  ///< those that have not failed
};

}  // namespace polytop
