// SPDX-License-Identifier: Apache-2.0
#include "events/events.h"

#include <algorithm>
#include <future>
#include <utility>

#include "turns/priority.h"

namespace polytop {

namespace {

/// Counters that say that a walk was not counted.
constexpr uint32_t kLosses[] = {COUNTER_SamplesLostRingFull, COUNTER_SamplesLostCountsFull, COUNTER_SamplesLostBusy};

}  // namespace

void Events::set(const std::string& objectPath, const Session& session, const std::vector<EventSetup>& setups) {
  std::vector<Counted> objects;
  const auto keyOf = [](const EventSetup& setup) { return std::to_string(setup.number) + " " + setup.name; };
  // The kernel takes a quarter of a second to verify each: that goes on beside each other.
  std::vector<std::pair<std::string, std::future<std::unique_ptr<EventObject>>>> loads;
  for (const EventSetup& setup : setups) {
    if (std::ranges::any_of(objects_, [&](const Counted& it) { return it.key == keyOf(setup); })) continue;
    loads.emplace_back(keyOf(setup), std::async(std::launch::async, [&objectPath, &session, &setup] {
                         raisePriority();
                         return std::make_unique<EventObject>(objectPath, session, setup);
                       }));
  }
  for (auto& [key, load] : loads) objects.push_back({key, load.get(), {}, 0});
  for (Counted& known : objects_) {
    if (std::ranges::any_of(setups, [&](const EventSetup& setup) { return keyOf(setup) == known.key; }))
      objects.push_back(std::move(known));
  }
  objects_ = std::move(objects);
}

void Events::setFrequency(uint32_t frequency) {
  for (const Counted& it : objects_) it.object->setFrequency(frequency);
}

std::vector<EventNews> Events::collect(std::array<uint64_t, COUNTERS>& counters, uint64_t& nanoseconds) {
  std::vector<EventNews> news;
  for (Counted& it : objects_) {
    const EventTotals totals = it.object->totals();
    EventNews event;
    event.number = it.object->number();
    event.hits = totals.hits - it.last.hits;
    event.walks = totals.walks - it.last.walks;
    for (uint32_t id = 0; id < COUNTERS; id++) counters[id] += totals.sums.counters[id] - it.last.sums.counters[id];
    nanoseconds += totals.sums.nanoseconds - it.last.sums.nanoseconds;
    for (const uint32_t loss : kLosses) event.missed += totals.sums.counters[loss] - it.last.sums.counters[loss];
    event.missed += totals.unrun - it.last.unrun;
    // Blocks that were given up have left hits out, others were counted for too many: what is over is told.
    it.unseen += totals.unseen - it.last.unseen;
    if (it.unseen > 0) event.missed += static_cast<uint64_t>(std::exchange(it.unseen, 0));
    it.last = totals;
    news.push_back(event);
    it.object->follow();
  }
  return news;
}

}  // namespace polytop
