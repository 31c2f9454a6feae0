// SPDX-License-Identifier: Apache-2.0
#include "drain/waits.h"

#include <cerrno>

#include "drain/map_entries.h"
#include "util/failure.h"

namespace polytop {

namespace {

template <typename Key, typename Value, typename Take>
void takeAll(int map, Take take) {
  if (!MapEntries<Key, Value>().takeAll(map, take))
    throw Failure("what waiting threads were counted for cannot be read", errno);
}

}  // namespace

void Waits::collect(Sweeper& sweeper) {
  rows_.clear();
  times_.clear();
  sweeper.collect([this](const WaitObject& object, uint64_t sweep, const cpu_totals& totals) {
    sweeps_ = sweep - sweep_;
    sweep_ = sweep;
    takeAll<count_key, wait_count>(object.mapFd("wait_counts"), [this](const count_key& key, const wait_count& count) {
      rows_.push_back({key, count});
    });
    takeAll<uint32_t, wait_times>(object.mapFd("wait_times"),
                                  [this](uint32_t pid, const wait_times& times) { times_.push_back({pid, times}); });
    totals_ = totals;
  });
}

}  // namespace polytop
