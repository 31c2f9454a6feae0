// SPDX-License-Identifier: Apache-2.0
#include "js/drained_values.h"

#include "js/file_values.h"
#include "js/name_values.h"
#include "js/values.h"

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

}  // namespace

Napi::Object describeDrained(Napi::Env env, const Drained& drained, const std::vector<std::string>& notices) {
  const Stacks::News& news = drained.news;
  const std::vector<double> counters(drained.counters.begin(), drained.counters.end());
  return object(env, "seconds", drained.seconds, "time", static_cast<double>(drained.time) / 1e6, "samples",
                drained.samples, "missed", drained.missed, "bpfNanoseconds", drained.bpfNanoseconds, "ticks",
                drained.ticks, "childNanoseconds", drained.childNanoseconds, "counters", counters, "counts",
                describeCounts(env, drained.counts), "events", drained.events, "tasks",
                describeTasks(env, drained.tasks), "sweeps", drained.sweeps, "waits", describeWaits(env, drained.waits),
                "waitTimes", drained.waitTimes, "stackWaits", news.waits, "stacks", news.stacks, "firstFrame",
                news.firstFrame, "frames", news.frames, "functions", news.functions, "extras", news.extras, "names",
                describeNames(env, news.names), "renewed", news.renewed, "owners", news.owners, "forgottenStacks",
                news.forgottenStacks, "forgottenFrames", news.forgottenFrames, "files",
                describeFiles(env, drained.files), "closedFiles", drained.closedFiles, "notices", notices);
}

}  // namespace polytop
