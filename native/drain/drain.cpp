// SPDX-License-Identifier: Apache-2.0
#include "drain/drain.h"

#include <bpf/bpf.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <numeric>
#include <tuple>
#include <utility>

#include "command/command.h"
#include "drain/awaits.h"
#include "kernel/object.h"
#include "parser/parser.h"
#include "util/clock.h"
#include "util/flat_map.h"
#include "util/hash.h"

namespace polytop {

namespace {

/// So many stacks with frames of interpreters wait for the next drain: some MB.
constexpr size_t kMaxInterpreted = 2048;

/// The stack of softirqs that are not sampled: a reason, and no frame.
constexpr uint64_t kUnsampledStack = 0x736f667469727173;

/// The id of the root of all cgroups (cgroup_setup_root()).
constexpr uint64_t kRootCgroup = 1;

stack_record unsampledStack() {
  stack_record record = {};
  record.type = RECORD_STACK;
  record.hash = kUnsampledStack;
  record.frame_count = 1;
  record.outcome = OUTCOME_BROKEN;
  return record;
}

/// What the sampling program says of the idle task of a CPU.
count_value idleTask(uint32_t cpu) {
  count_value task = {};
  std::string(INTERRUPTS_COMM).copy(task.comm, sizeof task.comm - 1);
  ("swapper/" + std::to_string(cpu)).copy(task.thread, sizeof task.thread - 1);
  task.cgroup = kRootCgroup;
  return task;
}

/// The ids of files in a set of them.
std::vector<uint32_t> idsIn(const std::bitset<1 << 16>& files) {
  std::vector<uint32_t> ids;
  for (size_t id = files._Find_first(); id < files.size(); id = files._Find_next(id))
    ids.push_back(static_cast<uint32_t>(id));
  return ids;
}

}  // namespace

void DrainedCounts::sort() {
  std::vector<uint32_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
    return std::tie(stacks[a], tasks[a], events[a]) < std::tie(stacks[b], tasks[b], events[b]);
  });
  DrainedCounts sorted;
  for (const uint32_t at : order) sorted.add(stacks[at], tasks[at], events[at], weights[at]);
  *this = std::move(sorted);
}

Drain::~Drain() { close(); }

void Drain::open(Session& session, Files& files, Methods& methods, MemoryReader& memory, bool byFunction) {
  if (byFunction) stacks_.mergeByFunction();
  session_ = &session;
  files_ = &files;
  methods_ = &methods;
  lines_ = makeFrameLines(session, files.catalog, memory);
  std::vector<const Interleaver*> interleavers;
  for (const auto& lines : lines_) {
    if (const Interleaver* interleaver = lines->interleaver()) interleavers.push_back(interleaver);
  }
  stacks_.interleave(std::move(interleavers));
  memory_ = &memory;
  ring_ = ring_buffer__new(session.mapFd("records"), onRecord, this, nullptr);
  if (!ring_) throw Failure("the ring buffer cannot be opened", errno);
  bootedAt_ = clockNanoseconds(CLOCK_REALTIME) - clockNanoseconds(CLOCK_BOOTTIME);
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
  interpreted_.add(record);
  if (interpreted_.size() >= kMaxInterpreted) addInterpreted();
}

void Drain::addInterpreted() {
  for (const auto& lines : lines_) lines->correct(interpreted_.all());
  for (InterpretedStack& stack : interpreted_.all()) {
    placeAwaits(stack);
    stacks_.add(stack);
  }
  interpreted_.clear();
}

void Drain::numberStacks() {
  std::unique_lock lock(ringMutex_);
  addInterpreted();
  const std::vector<Stacks::NewFrame> frames = stacks_.newFrames();
  // The index of a large file takes a while: the reader goes on meanwhile.
  lock.unlock();
  std::bitset<1 << 16> files;
  for (const Stacks::NewFrame& frame : frames) {
    if (frame.isCode && frameKind(frame.word) == FRAME_NATIVE)
      files.set(static_cast<uint16_t>(frame.word >> FRAME_FILE_SHIFT));
  }
  files_->naming.makeReady(idsIn(files));
  std::vector<Stacks::FrameFacts> facts;
  facts.reserve(frames.size());
  for (const Stacks::NewFrame& frame : frames) facts.push_back(factsOf(frame));
  files_->naming.readNames();
  lock.lock();
  stacks_.number(facts);
}

Stacks::FrameFacts Drain::factsOf(const Stacks::NewFrame& frame) {
  if (!frame.isCode) return {};
  const uint32_t kind = frameKind(frame.word);
  if (kind == FRAME_NATIVE) {
    const auto file = static_cast<uint32_t>(frame.word >> FRAME_FILE_SHIFT);
    const uint64_t offset = frame.word & FRAME_OFFSET_MASK;
    const auto runtime = frame.mayBeHidden ? files_->catalog.runtimeOf(file) : nullptr;
    return {files_->naming.functionOf(file, offset), runtime ? runtime->roleOf(offset) : NativeRole{}};
  }
  const uint32_t method = kind == FRAME_DOTNET && frame.owner ? methods_->numberOf(frame.word, frame.owner) : 0;
  return {method ? method | kMethod : 0, {}};
}

Drained Drain::drain() {
  Drained drained;
  drained.closedFiles = files_->catalog.forgetEvicted();
  files_->catalog.letGo(*session_, clockNanoseconds(CLOCK_MONOTONIC));
  files_->naming.beginRefresh();
  // Names of functions with new numbers are read together, before they are asked for.
  if (keptFunctions_) files_->naming.forgetOthers(*keptFunctions_);
  session_->followSettings();
  if (sweeper_ && sweeper_->isRunning()) waits_.collect(*sweeper_);
  // What follows takes a while on a busy machine, and is no part of the time that was counted.
  const uint64_t now = clockNanoseconds(CLOCK_MONOTONIC);
  const uint32_t epoch = session_->switchEpoch();
  // A stack is sent before it is counted: after this every stack of the old epoch is known.
  consume();
  numberStacks();
  std::lock_guard lock(ringMutex_);
  readCounts(epoch, drained);
  readCounters(drained);
  drained.news = stacks_.take();
  for (const Interleaver* it : stacks_.interleavers())
    drained.counters[it->unpaired] += drained.news.unpaired[it->owner];
  drained.tasks = tasks_.take();
  drained.files = files_->catalog.takeNews();
  drained.seconds = static_cast<double>(now - lastTime_) / 1e9;
  // Goes on while the machine is suspended, as the time of day does.
  drained.time = bootedAt_ + clockNanoseconds(CLOCK_BOOTTIME);
  lastTime_ = now;
  for (const auto& lines : lines_) lines->beginRefresh();
  renewIfFull(drained.counts.weights.size() + drained.waits.ages.size());
  return drained;
}

uint64_t Drain::childNanoseconds() const {
  rusage usage = {};  // of those that were waited for
  getrusage(RUSAGE_CHILDREN, &usage);
  const uint64_t children = cpuNanoseconds(usage);
  return children - std::min(children, commandNanoseconds()) + memory_->cpuNanoseconds() +
         Parser::cpuNanosecondsOfAll();
}

void Drain::restart() {
  Drained ignored;
  if (sweeper_ && sweeper_->isRunning()) waits_.collect(*sweeper_);
  lastTime_ = clockNanoseconds(CLOCK_MONOTONIC);
  const uint32_t epoch = session_->switchEpoch();
  consume();
  numberStacks();
  std::lock_guard lock(ringMutex_);
  readCounts(epoch, ignored);
  readCounters(ignored);
}

double Drain::sampledSeconds() const {
  return static_cast<double>(clockNanoseconds(CLOCK_MONOTONIC) - lastTime_) / 1e9;
}

uint32_t Drain::frameNumber(uint64_t word, uint32_t pid) {
  std::lock_guard lock(ringMutex_);
  return stacks_.numberOf(word, pid);
}

void Drain::readCounts(uint32_t epoch, Drained& drained) {
  DrainedCounts& counts = drained.counts;
  // Behind the place of a stack in a task: several CPUs may have counted it.
  FlatMap<uint64_t, uint32_t, NumberHash> places;
  for (uint32_t cpu = 0; cpu < session_->possibleCpus(); cpu++) {
    countEntries_.takeAll(session_->countMapFd(epoch, cpu), [&](const count_key& key, const count_value& value) {
      const Stacks::Known stack = stacks_.find(key.stack);
      if (stack.number == 0) {
        drained.counters[COUNTER_SamplesLostStackUnknown] += value.count;
        if (key.event == 0) drained.missed += value.count;
        return;
      }
      for (uint16_t file : stack.files) sampledFiles_.set(file);
      const uint32_t task = tasks_.number(key, value);
      const auto [place, isFirst] =
          places.add(static_cast<uint64_t>(stack.number) << 32 | task * MAX_EVENTS | key.event % MAX_EVENTS);
      if (isFirst) {
        counts.add(stack.number, task, key.event, 0);
        place = static_cast<uint32_t>(counts.weights.size());
      }
      counts.weights[place - 1] += static_cast<double>(value.count);
      if (key.event == 0) drained.samples += value.count;
    });
  }
  counts.sort();
  if (sweeper_ && sweeper_->isRunning()) readWaits(drained);
  touchFiles(clockNanoseconds(CLOCK_MONOTONIC));
}

void Drain::readWaits(Drained& drained) {
  DrainedWaits& waits = drained.waits;
  drained.sweeps = waits_.sweeps();
  std::vector<std::pair<uint32_t, const Waits::Row*>> rows;
  for (const Waits::Row& row : waits_.rows()) {
    const Stacks::Known stack = stacks_.find(row.key.stack);
    for (uint16_t file : stack.files) sampledFiles_.set(file);
    if (stack.number == 0)
      drained.counters[COUNTER_WaitLostNanoseconds] += row.count.task.count;
    else
      rows.emplace_back(stack.number, &row);
  }
  // A stack shares most with the one before, as with counts.
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [stack, found] : rows) {
    const Waits::Row& row = *found;
    const count_value& value = row.count.task;
    const double age = static_cast<double>(row.count.seen - std::min(row.count.since, row.count.seen));
    waits.stacks.push_back(stack);
    waits.tasks.push_back(tasks_.number(row.key, value));
    waits.nanoseconds.push_back(static_cast<double>(value.count));
    waits.ages.push_back(waits_.isPresent(row) ? age : -age);
    const wait_owners& owners = row.count.owners;
    waits.owners.insert(waits.owners.end(), {owners.mutex, owners.writer, owners.writer_for_read});
  }
  for (const auto& [pid, times] : waits_.times())
    drained.waitTimes.insert(
        drained.waitTimes.end(),
        {static_cast<double>(pid), static_cast<double>(times.start_time / kNanosecondsPerMillisecond),
         static_cast<double>(times.threads), static_cast<double>(times.running), static_cast<double>(times.runnable),
         static_cast<double>(times.blocked)});
  for (uint32_t id = 0; id < COUNTERS; id++)
    drained.counters[id] += waits_.totals().counters[id] - lastWaitTotals_.counters[id];
  lastWaitTotals_ = waits_.totals();
}

void Drain::sweepWith(Sweeper* sweeper) {
  std::lock_guard lock(ringMutex_);
  sweeper_ = sweeper;
  lastWaitTotals_ = {};
}

void Drain::touchFiles(uint64_t now) {
  for (const uint32_t id : idsIn(sampledFiles_)) files_->catalog.touch(id, now);
  sampledFiles_.reset();
}

void Drain::readCounters(Drained& drained) {
  std::vector<cpu_totals> totals(session_->possibleCpus());
  const uint32_t zero = 0;
  if (bpf_map_lookup_elem(session_->mapFd("totals"), &zero, totals.data()) != 0) return;
  const cpu_totals sums = sumOf(totals);
  for (uint32_t id = 0; id < COUNTERS; id++) drained.counters[id] += sums.counters[id] - lastTotals_.counters[id];
  drained.bpfNanoseconds = sums.nanoseconds - lastTotals_.nanoseconds;
  drained.ticks = sums.ticks - lastTotals_.ticks;
  lastTotals_ = sums;
  for (uint32_t loss : {COUNTER_SamplesLostRingFull, COUNTER_SamplesLostCountsFull, COUNTER_SamplesLostSkipped})
    drained.missed += drained.counters[loss];
  readEvents(drained);
  countUnsampled(totals, drained);
  session_->events().follow(totals);
}

void Drain::countUnsampled(const std::vector<cpu_totals>& totals, Drained& drained) {
  CpuEvents& events = session_->events();
  const uint64_t now = clockNanoseconds(CLOCK_MONOTONIC);
  const double seconds = unsampledAt_ ? static_cast<double>(now - unsampledAt_) / 1e9 : 0;
  unsampledAt_ = now;
  // They are no process's, and a PMU does not count on an idle CPU.
  if (session_->isNarrowed() || events.count() == 0 || !events.source().isClock) return;
  if (!unsampled_.look(totals, seconds, events.frequency())) return;
  std::ifstream stat("/proc/stat");
  unsampled_.compare(readCpuTimes(stat));
  const uint64_t frame = static_cast<uint64_t>(FRAME_STOP) << FRAME_KIND_SHIFT | COUNTER_UnwindKernelErrNotSampled;
  stacks_.add(unsampledStack(), &frame);
  const uint32_t stack = stacks_.find(kUnsampledStack).number;
  for (uint32_t cpu = 0; stack && cpu < session_->possibleCpus(); cpu++) {
    const uint64_t count = unsampled_.take(cpu);
    if (!count) continue;
    drained.counts.add(stack, tasks_.number({}, idleTask(cpu)), 0, static_cast<double>(count));
    drained.samples += count;
    for (const uint32_t id : {COUNTER_SamplesTaken, COUNTER_SamplesCounted, COUNTER_UnwindKernelAttempts,
                              COUNTER_UnwindKernelErrNotSampled})
      drained.counters[id] += count;
  }
}

void Drain::readEvents(Drained& drained) {
  if (!events_) return;
  for (const EventNews& event : events_->collect(drained.counters, drained.bpfNanoseconds))
    drained.events.insert(drained.events.end(), {static_cast<double>(event.number), static_cast<double>(event.hits),
                                                 static_cast<double>(event.walks), static_cast<double>(event.missed)});
}

void Drain::renewIfFull(size_t counted) {
  tasks_.renewIfFull(counted);
  files_->catalog.makeRoom(*session_, lastTime_);
  const bool isNamedAgain = files_->naming.mustNameAgain();
  const bool isAsked = std::exchange(keptFunctions_, {}).has_value();
  // The same functions have other starts when their symbols are known.
  if (isNamedAgain) files_->naming.renumber();
  if (files_->catalog.wantsRenewal() || isNamedAgain || isAsked || stacks_.mustRenewFrames()) return renewFrames();
  const bool areLinesFull = std::any_of(lines_.begin(), lines_.end(), [](const auto& it) { return it->isFull(); });
  if (!stacks_.mustRenewStacks(counted) && !areLinesFull) return;
  session_->renewStacks();
  stacks_.renewStacks();
  for (const auto& lines : lines_) lines->renew();
}

void Drain::renewFrames() {
  session_->renewStacks();
  stacks_.renewFrames();
  if (files_->catalog.renewed()) files_->naming.renumber();
  for (const auto& lines : lines_) lines->renew();
}

}  // namespace polytop
