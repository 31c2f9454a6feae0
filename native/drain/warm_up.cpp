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
constexpr std::chrono::milliseconds kSweeping{600};
constexpr std::chrono::milliseconds kPoll{5};
/// What a sweep asks for is read by another thread.
constexpr std::chrono::milliseconds kAsking{15};
constexpr uint32_t kCalibrationFrequency = 4999;
/// No process has this pid, and so nothing is sampled.
constexpr uint32_t kNobody = 0;

}  // namespace

uint64_t calibrate(Session& session) {
  CpuEvents& events = session.events();
  uint64_t nanoseconds = 0;
  session.setTargets({kNobody});
  do {
    events.attach(allowedFrequency(kCalibrationFrequency));
    nanoseconds = measureTickCost(events.frequency());
  } while (!events.trust());
  return nanoseconds;
}

void warmUp(Session& session, Drain& drain, const FileBuilder& builder, const std::vector<uint32_t>& targets) {
  session.setTargets(targets);
  session.events().setFrequency(allowedFrequency(kFrequency));
  std::this_thread::sleep_for(kSampling);
  drain.consume();
  waitForFiles(builder, kBuilding);
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
