// SPDX-License-Identifier: Apache-2.0
#include "drain/waits.h"

#include <bpf/bpf.h>

#include <cerrno>

#include "util/failure.h"

namespace polytop {

namespace {

constexpr uint32_t kBatch = 1024;

/// Takes all entries out of a map; `take` is called with each key and value.
template <typename Key, typename Value, typename Take>
void takeAll(int map, Take take) {
  std::vector<Key> keys(kBatch);
  std::vector<Value> values(kBatch);
  uint32_t position = 0;
  for (bool first = true, more = true; more; first = false) {
    uint32_t count = kBatch;
    const int error = bpf_map_lookup_and_delete_batch(map, first ? nullptr : &position, &position, keys.data(),
                                                      values.data(), &count, nullptr);
    more = error == 0;
    if (error && errno != ENOENT) throw Failure("what waiting threads were counted for cannot be read", errno);
    for (uint32_t i = 0; i < count; i++) take(keys[i], values[i]);
  }
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
