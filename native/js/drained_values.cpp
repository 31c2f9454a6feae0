// SPDX-License-Identifier: Apache-2.0
#include "js/drained_values.h"

#include <utility>

#include "js/file_values.h"
#include "js/name_values.h"
#include "js/values.h"
#include "turns/first_turn.h"
#include "turns/priority.h"

namespace polytop {

namespace {

Napi::Object describeCounts(Napi::Env env, const DrainedCounts& counts) {
  return object(env, "stacks", counts.stacks, "tasks", counts.tasks, "events", counts.events, "weights",
                counts.weights);
}

Napi::Object describeTasks(Napi::Env env, const Tasks::News& tasks) {
  return object(env, "renewed", tasks.renewed, "words", tasks.words, "startTimes", tasks.startTimes, "cgroups",
                tasks.cgroups, "names", tasks.names);
}

Napi::Object describeWaits(Napi::Env env, const DrainedWaits& waits) {
  return object(env, "stacks", waits.stacks, "tasks", waits.tasks, "nanoseconds", waits.nanoseconds, "ages", waits.ages,
                "owners", waits.owners);
}

/// What was sampled between two drains, and what the user must know beside it.
Napi::Object describeDrained(Napi::Env env, const Drained& drained) {
  const Stacks::News& news = drained.news;
  const std::vector<double> counters(drained.counters.begin(), drained.counters.end());
  return object(env, "seconds", drained.seconds, "time", static_cast<double>(drained.time) / 1e6, "samples",
                drained.samples, "missed", drained.missed, "bpfNanoseconds", drained.bpfNanoseconds, "ticks",
                drained.ticks, "counters", counters, "counts", describeCounts(env, drained.counts), "events",
                drained.events, "tasks", describeTasks(env, drained.tasks), "sweeps", drained.sweeps, "waits",
                describeWaits(env, drained.waits), "waitTimes", drained.waitTimes, "stackWaits", news.waits, "stacks",
                news.stacks, "firstFrame", news.firstFrame, "frames", news.frames, "functions", news.functions,
                "extras", news.extras, "names", describeNames(env, news.names), "renewed", news.renewed, "owners",
                news.owners, "forgottenStacks", news.forgottenStacks, "forgottenFrames", news.forgottenFrames, "files",
                describeFiles(env, drained.files), "closedFiles", drained.closedFiles, "notices", drained.notices);
}

/// Deletes itself when it is done, as AsyncWorkers do.
class DrainWorker final : public Napi::AsyncWorker {
 public:
  DrainWorker(const Napi::Object& sampler, std::function<Drained()> drain)
      : Napi::AsyncWorker(sampler.Env()),
        deferred_(sampler.Env()),
        sampler_(Napi::Persistent(sampler)),
        drain_(std::move(drain)) {}

  Napi::Promise promise() const { return deferred_.Promise(); }

  /// Runs on one of Node's threads for work, where an exception would end the program.
  void Execute() override {
    raisePriority();
    // Until the drain is done nothing is drawn.
    comeBeforeHelpers();
    try {
      drained_ = drain_();
    } catch (const std::exception& error) {
      SetError(reasonOf(error));
    }
    // One of these threads begins the next drain, and would wait in line before it could come first.
    comeBeforeHelpers();
  }

  void OnOK() override { deferred_.Resolve(describeDrained(Env(), drained_)); }
  void OnError(const Napi::Error& error) override { deferred_.Reject(error.Value()); }

 private:
  Napi::Promise::Deferred deferred_;
  /// What drains is not collected meanwhile.
  Napi::ObjectReference sampler_;
  std::function<Drained()> drain_;
  Drained drained_;
};

}  // namespace

Napi::Promise drainBeside(const Napi::Object& sampler, std::function<Drained()> drain) {
  auto* worker = new DrainWorker(sampler, std::move(drain));
  const Napi::Promise promise = worker->promise();
  worker->Queue();
  return promise;
}

}  // namespace polytop
