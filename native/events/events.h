// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "events/event_object.h"

namespace polytop {

/// What an event counted since the last drain.
struct EventNews {
  uint32_t number = 0;
  uint64_t hits = 0;
  uint64_t walks = 0;
  uint64_t missed = 0;  ///< hits that no stack was counted for
};

/// The events that are counted beside the CPU's time, or in its place.
class Events {
 public:
  /// Counts these from now on, and no others; what was counted before stays, and those that stay are left as they are.
  /// Throws a Failure where one of them cannot be had; then nothing has changed.
  void set(const std::string& objectPath, const Session& session, const std::vector<EventSetup>& setups);
  void clear() { objects_.clear(); }
  bool empty() const { return objects_.empty(); }
  void setFrequency(uint32_t frequency);
  /// Reads what was counted since the last call, adds the increments of all counters to `counters`, and nanoseconds of
  /// the programs to `nanoseconds`.
  std::vector<EventNews> collect(std::array<uint64_t, COUNTERS>& counters, uint64_t& nanoseconds);

 private:
  struct Counted {
    std::string key;  ///< of its setup
    std::unique_ptr<EventObject> object;
    EventTotals last;
    int64_t unseen = 0;  ///< what the blocks of hits have not been told as missed yet
  };
  std::vector<Counted> objects_;
};

}  // namespace polytop
