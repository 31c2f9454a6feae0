// SPDX-License-Identifier: Apache-2.0
#include "drain/drain.h"

#include <bpf/bpf.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <unordered_map>

#include "util/clock.h"
#include "util/flat_map.h"
#include "util/hash.h"

namespace polytop {

namespace {

constexpr uint32_t kBatch = 1024;

/// An exec gives a thread another name: samples from before it and after it are those of two.
struct TaskKey {
  uint32_t tgid;
  uint32_t tid;
  uint64_t comm[COMM_LENGTH / sizeof(uint64_t)];
  bool operator==(const TaskKey&) const = default;
};
static_assert(COMM_LENGTH == 2 * sizeof(uint64_t));

struct TaskHash {
  size_t operator()(const TaskKey& key) const {
    const uint64_t ids = static_cast<uint64_t>(key.tgid) << 32 | key.tid;
    return mix(mix(ids, key.comm[0]), key.comm[1]);
  }
};

/// Names end at their first zero byte; what is behind it says nothing.
TaskKey taskKey(const count_key& key, const count_value& value) {
  TaskKey task = {key.tgid, key.tid, {}};
  memcpy(task.comm, value.comm, strnlen(value.comm, COMM_LENGTH));
  return task;
}

/// In ns: the CPU time of all child processes that were waited for.
uint64_t childTime() {
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto microseconds = [](const timeval& time) {
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_usec);
  };
  return (microseconds(usage.ru_utime) + microseconds(usage.ru_stime)) * 1000;
}

std::string commString(const char (&comm)[COMM_LENGTH]) { return {comm, strnlen(comm, COMM_LENGTH)}; }

}  // namespace

Drain::~Drain() { close(); }

void Drain::open(Session& session, Files& files, Methods& methods, bool byFunction) {
  if (byFunction) stacks_.mergeByFunction();
  session_ = &session;
  files_ = &files;
  methods_ = &methods;
  keys_.resize(kBatch);
  values_.resize(kBatch);
  lines_ = makeFrameLines(session);
  ring_ = ring_buffer__new(session.mapFd("records"), onRecord, this, nullptr);
  if (!ring_) throw Failure("the ring buffer cannot be opened", errno);
  lastTime_ = clockNanoseconds(CLOCK_MONOTONIC);
  reader_.start(ring_buffer__epoll_fd(ring_), [this] { consume(); });
}

void Drain::close() {
  reader_.stop();
  if (ring_) ring_buffer__free(ring_);
  ring_ = nullptr;
}

void Drain::consume() {
  std::lock_guard lock(ringMutex_);
  ring_buffer__consume(ring_);
}

int Drain::onRecord(void* context, void* data, size_t size) {
  try {
    static_cast<Drain*>(context)->take(data, size);
  } catch (const std::exception&) {
    // Memory ran out. Samples of a stack that is not known are counted as lost.
  }
  return 0;
}

void Drain::take(const void* data, size_t size) {
  if (size < sizeof(uint32_t)) return;
  const uint32_t type = *static_cast<const uint32_t*>(data);
  if (type == RECORD_FILE && size >= sizeof(file_record)) {
    files_->builder.request(*static_cast<const file_record*>(data));
  } else if (type == RECORD_METHOD && size >= offsetof(method_record, name)) {
    methods_->add(*static_cast<const method_record*>(data), size);
  } else if (type == RECORD_STACK && size >= sizeof(stack_record)) {
    const auto* record = static_cast<const stack_record*>(data);
    if (size >=
        sizeof *record + record->frame_count * sizeof(uint64_t) + record->interpreted_count * sizeof(interpreted_frame))
      addStack(*record);
  } else if (type == RECORD_BUSY_CPU && size >= sizeof(busy_cpu_record)) {
    session_->events().wake(static_cast<const busy_cpu_record*>(data)->cpu);
  } else if (type == RECORD_NAME && size >= sizeof(name_record)) {
    stacks_.addName(*static_cast<const name_record*>(data));
  } else {
    for (const auto& lines : lines_) lines->take(type, data, size);
  }
}

void Drain::addStack(const stack_record& record) {
  const auto* frames = reinterpret_cast<const uint64_t*>(&record + 1);
  if (record.interpreted_count == 0) return stacks_.add(record, frames);
  std::vector<uint64_t> words(frames, frames + record.frame_count + 2 * record.interpreted_count);
  for (const auto& lines : lines_) lines->correct(record, words.data() + record.frame_count);
  stacks_.add(record, words.data());
}

void Drain::numberStacks() {
  std::unique_lock lock(ringMutex_);
  const std::vector<uint64_t> words = stacks_.newFrames();
  // The index of a large file takes a while: the reader goes on meanwhile.
  lock.unlock();
  std::vector<uint32_t> functions;
  functions.reserve(words.size());
  for (const uint64_t word : words) {
    const bool native = word >> FRAME_KIND_SHIFT == FRAME_NATIVE;
    const auto file = static_cast<uint32_t>(word >> FRAME_FILE_SHIFT);
    functions.push_back(native ? files_->naming.functionOf(file, word & FRAME_OFFSET_MASK) : 0);
  }
  lock.lock();
  stacks_.number(functions);
}

Drained Drain::drain() {
  Drained drained;
  if (files_->catalog.forgetEvicted()) files_->naming.renumber();
  session_->followSettings();
  const uint32_t epoch = session_->switchEpoch();
  // A stack is sent before it is counted: after this every stack of the old epoch is known.
  consume();
  numberStacks();
  std::lock_guard lock(ringMutex_);
  readCounts(epoch, drained);
  readCounters(drained);
  drained.news = stacks_.take();
  drained.files = files_->catalog.takeNews();
  const uint64_t now = clockNanoseconds(CLOCK_MONOTONIC);
  drained.seconds = static_cast<double>(now - lastTime_) / 1e9;
  const uint64_t children = childTime();
  drained.childNanoseconds = children - lastChildTime_;
  lastChildTime_ = children;
  lastTime_ = now;
  for (const auto& lines : lines_) lines->beginRefresh();
  renewIfFull();
  return drained;
}

void Drain::restart() {
  Drained ignored;
  const uint32_t epoch = session_->switchEpoch();
  consume();
  numberStacks();
  std::lock_guard lock(ringMutex_);
  readCounts(epoch, ignored);
  readCounters(ignored);
  lastTime_ = clockNanoseconds(CLOCK_MONOTONIC);
  lastChildTime_ = childTime();
}

uint32_t Drain::frameNumber(uint64_t word, uint32_t pid) {
  std::lock_guard lock(ringMutex_);
  return stacks_.numberOf(word, pid);
}

void Drain::readCounts(uint32_t epoch, Drained& drained) {
  std::unordered_map<TaskKey, uint32_t, TaskHash> tasks;
  // Behind the count of a stack in a task: several CPUs may have counted it.
  FlatMap<uint64_t, uint32_t, NumberHash> places;
  for (uint32_t cpu = 0; cpu < session_->possibleCpus(); cpu++) {
    const int fd = session_->countMapFd(epoch, cpu);
    uint32_t position = 0;
    for (bool first = true, more = true; more; first = false) {
      uint32_t count = kBatch;
      const int error = bpf_map_lookup_and_delete_batch(fd, first ? nullptr : &position, &position, keys_.data(),
                                                        values_.data(), &count, nullptr);
      more = error == 0;
      if (error && errno != ENOENT) break;
      for (uint32_t i = 0; i < count; i++) {
        const count_key& key = keys_[i];
        const count_value& value = values_[i];
        const Stacks::Known stack = stacks_.find(key.stack);
        if (stack.number == 0) {
          drained.counters[COUNTER_SamplesLostStackUnknown] += value.count;
          drained.missed += value.count;
          continue;
        }
        for (uint16_t file : stack.files) sampledFiles_.set(file);
        const auto [it, isNew] = tasks.try_emplace(taskKey(key, value), static_cast<uint32_t>(drained.tasks.size()));
        if (isNew)
          drained.tasks.push_back({key.tgid, key.tid, value.parent, value.uid, value.cgroup, value.start_time,
                                   commString(value.comm), commString(value.thread)});
        const auto [place, isFirst] = places.add(static_cast<uint64_t>(stack.number) << 32 | it->second);
        if (isFirst) {
          drained.counts.insert(drained.counts.end(), {stack.number, it->second, 0});
          place = static_cast<uint32_t>(drained.counts.size());
        }
        drained.counts[place - 1] += static_cast<uint32_t>(value.count);
        drained.samples += value.count;
      }
    }
  }
  touchFiles(clockNanoseconds(CLOCK_MONOTONIC));
}

void Drain::touchFiles(uint64_t now) {
  for (size_t id = sampledFiles_._Find_first(); id < sampledFiles_.size(); id = sampledFiles_._Find_next(id))
    files_->catalog.touch(static_cast<uint32_t>(id), now);
  sampledFiles_.reset();
}

void Drain::readCounters(Drained& drained) {
  std::vector<cpu_totals> totals(session_->possibleCpus());
  const uint32_t zero = 0;
  if (bpf_map_lookup_elem(session_->mapFd("totals"), &zero, totals.data()) != 0) return;
  cpu_totals sums = {};
  for (const cpu_totals& cpu : totals) {
    for (uint32_t id = 0; id < COUNTERS; id++) sums.counters[id] += cpu.counters[id];
    sums.nanoseconds += cpu.nanoseconds;
    sums.ticks += cpu.ticks;
  }
  for (uint32_t id = 0; id < COUNTERS; id++) drained.counters[id] += sums.counters[id] - lastTotals_.counters[id];
  drained.bpfNanoseconds = sums.nanoseconds - lastTotals_.nanoseconds;
  drained.ticks = sums.ticks - lastTotals_.ticks;
  lastTotals_ = sums;
  for (uint32_t loss : {COUNTER_SamplesLostRingFull, COUNTER_SamplesLostCountsFull, COUNTER_SamplesLostSkipped})
    drained.missed += drained.counters[loss];
  session_->events().follow(totals);
}

void Drain::renewIfFull() {
  const bool evicted = files_->catalog.makeRoom(*session_, lastTime_);
  if (evicted || stacks_.mustRenewFrames()) return renewFrames();
  if (!stacks_.mustRenewStacks()) return;
  session_->renewStacks();
  stacks_.renewStacks();
  for (const auto& lines : lines_) lines->renew();
}

void Drain::renewFrames() {
  session_->renewStacks();
  stacks_.renewFrames();
  for (const auto& lines : lines_) lines->renew();
}

}  // namespace polytop
