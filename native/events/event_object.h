// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bpf/abi.h"
#include "bpf/totals.h"
#include "events/event_setup.h"
#include "kernel/session.h"
#include "util/file_descriptor.h"

namespace polytop {

/// What an event counted since its start.
struct EventTotals {
  cpu_totals sums = {};  ///< of all CPUs
  uint64_t hits = 0;     ///< of wanted processes
  uint64_t walks = 0;    ///< those whose stacks were walked
  uint64_t unrun = 0;    ///< hits at which the kernel left the program out
  int64_t unseen = 0;    ///< event_state::unseen
};

/// One event other than the CPU's time: a BPF object of its own, which shares the maps of the sampling object. What it
/// attached goes with it.
class EventObject {
 public:
  /// Loads the object and attaches the event. Throws a Failure that says what could not be had.
  EventObject(const std::string& path, const Session& session, const EventSetup& setup);
  ~EventObject();
  EventObject(const EventObject&) = delete;
  EventObject& operator=(const EventObject&) = delete;

  uint32_t number() const { return setup_.number; }
  /// Follows CPUs that came online or went offline, and lets hits that have become rare be met. Once a drain.
  void follow();
  /// Sets how many stacks a second are walked on each CPU at most.
  void setFrequency(uint32_t frequency);
  EventTotals totals() const;

 private:
  struct Counter {
    uint32_t cpu = 0;
    bpf_link* link = nullptr;
  };

  void load(const std::string& path, const Session& session, bool isMulti);
  void close();
  void attach();
  bpf_link* attachCounter(uint32_t cpu) const;
  void attachMulti();
  void attachEach();
  void keep(int event, const std::string& what);
  void writeRate();

  EventSetup setup_;
  bpf_object* object_ = nullptr;
  bpf_program* program_ = nullptr;
  std::vector<Counter> counters_;      ///< of an event that each CPU has for itself
  std::vector<bpf_link*> links_;       ///< of others
  std::vector<FileDescriptor> multi_;  ///< links of many functions at once
  event_rate rate_ = {};
  uint32_t possibleCpus_ = 0;
};

}  // namespace polytop
