// SPDX-License-Identifier: Apache-2.0
#include "js/drained_values.h"

#include "js/file_values.h"
#include "js/name_values.h"
#include "js/values.h"

namespace polytop {

namespace {

constexpr uint64_t kNanosecondsPerMillisecond = 1'000'000;

Napi::Array describeTasks(Napi::Env env, const std::vector<TaskInfo>& tasks) {
  return listOf(env, tasks, [env](const TaskInfo& task) {
    return object(env, "pid", task.pid, "tid", task.tid, "parentPid", task.parent, "uid", task.uid, "cgroup",
                  std::to_string(task.cgroup), "startTime", task.startTime / kNanosecondsPerMillisecond, "comm",
                  task.comm, "thread", task.thread);
  });
}

}  // namespace

Napi::Object describeDrained(Napi::Env env, const Drained& drained, const std::vector<std::string>& notices) {
  const Stacks::News& news = drained.news;
  const std::vector<double> counters(drained.counters.begin(), drained.counters.end());
  return object(env, "seconds", drained.seconds, "time", static_cast<double>(drained.time) / 1e6, "samples",
                drained.samples, "missed", drained.missed, "bpfNanoseconds", drained.bpfNanoseconds, "ticks",
                drained.ticks, "childNanoseconds", drained.childNanoseconds, "counters", counters, "counts",
                drained.counts, "events", drained.events, "tasks", describeTasks(env, drained.tasks), "sweeps",
                drained.sweeps, "waits", drained.waits, "waitTimes", drained.waitTimes, "stackWaits", news.waits,
                "stacks", news.stacks, "firstFrame", news.firstFrame, "frames", news.frames, "functions",
                news.functions, "extras", news.extras, "names", describeNames(env, news.names), "renewed", news.renewed,
                "owners", news.owners, "forgottenStacks", news.forgottenStacks, "forgottenFrames", news.forgottenFrames,
                "files", describeFiles(env, drained.files), "notices", notices);
}

}  // namespace polytop
