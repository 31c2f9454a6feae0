// SPDX-License-Identifier: Apache-2.0
#include "drain/warm_up.h"

#include <thread>

#include "kernel/tick_cost.h"

namespace polytop {

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kFrequency = 1997;
constexpr std::chrono::milliseconds kSampling{40};
constexpr std::chrono::milliseconds kBuilding{250};
/// A busy machine has many files in use that no sample has met yet; what earlier runs kept of them is soon read.
constexpr std::chrono::milliseconds kBuildingRunning{100};
constexpr std::chrono::milliseconds kSweeping{600};
constexpr std::chrono::milliseconds kPoll{5};
/// What a sweep asks for is read by another thread.
constexpr std::chrono::milliseconds kAsking{15};

}  // namespace

void warmUp(Session& session, Drain& drain, const FileBuilder& builder, const SessionOptions& options) {
  const auto sampled = Clock::now() + kSampling;
  session.events().attach(allowedFrequency(kFrequency));
  // The kernel waits for some 10 to 40 ms in this: what is counted before is left out anyway.
  session.createCountMaps(options);
  std::this_thread::sleep_until(sampled);
  drain.consume();
  waitForFiles(builder, kBuilding);
  while (builder.readsRunning() && Clock::now() < sampled + kBuildingRunning) std::this_thread::sleep_for(kPoll);
}

void warmUp(Sweeper& sweeper, const FileBuilder& builder) {
  const auto latest = Clock::now() + kSweeping;
  // Each sweep gets as far as the files go that are known: some are needed to meet all files of deep stacks.
  while (sweeper.restart() > 0 && Clock::now() < latest) {
    std::this_thread::sleep_for(kAsking);
    waitForFiles(builder, kBuilding);
  }
}

void waitForFiles(const FileBuilder& builder, std::chrono::milliseconds longest) {
  const auto latest = Clock::now() + longest;
  do std::this_thread::sleep_for(kPoll);
  while (builder.queued() > 0 && Clock::now() < latest);
}

}  // namespace polytop
