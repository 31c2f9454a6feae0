// SPDX-License-Identifier: Apache-2.0
#include "naming/symbol_reader.h"

#include <algorithm>
#include <span>
#include <utility>

#include "mapped/identity.h"
#include "naming/read_symbols.h"
#include "turns/first_turn.h"
#include "util/clock.h"
#include "util/failure.h"

namespace polytop {

SymbolReader::~SymbolReader() {
  for (Lane* lane : {&quick_, &slow_}) {
    lane->ofRoot.close();
    lane->ofUsers.close();
  }
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notifyAll();
  // The first may still start the second.
  for (Lane* lane : {&quick_, &slow_}) {
    if (lane->thread.joinable()) lane->thread.join();
  }
}

void SymbolReader::post(std::shared_ptr<SymbolJob> job) {
  const uint32_t owner = ownerOf(job->file->file().get());
  std::lock_guard lock(mutex_);
  enter(quick_, owner, std::move(job));
}

void SymbolReader::enter(Lane& lane, uint32_t owner, Job job) {
  lane.queue.push(owner, std::move(job));
  if (&lane == &slow_ && owner == 0 && lane.worksForUser) lane.ofUsers.interrupt();
  if (!lane.thread.joinable() && !closing_) lane.thread = startFirst([this, &lane] { work(lane); });
  wake_.notifyAll();
}

bool SymbolReader::wait(const std::vector<Job>& jobs, Clock::time_point until) {
  std::unique_lock lock(mutex_);
  const auto areDone = [&] {
    return std::all_of(jobs.begin(), jobs.end(), [](const Job& job) { return job->isDone || job->isSlow; });
  };
  done_.waitUntil(lock, until, [&] { return areDone() || finishedBytes_ > kMostFinished; });
  return areDone();
}

std::vector<std::shared_ptr<SymbolJob>> SymbolReader::takeDone() {
  std::lock_guard lock(mutex_);
  finishedBytes_ = 0;
  wake_.notifyAll();
  return std::exchange(finished_, {});
}

void SymbolReader::work(Lane& lane) {
  std::unique_lock lock(mutex_);
  for (;;) {
    comeFirst();
    wake_.wait(lock, [&] { return closing_ || (!lane.queue.empty() && finishedBytes_ <= kMostFinished); });
    if (closing_) return;
    const Job job = lane.queue.pop();
    const uint32_t owner = ownerOf(job->file->file().get());
    lane.worksForUser = owner != 0;
    lock.unlock();
    const uint64_t begun = clockNanoseconds(CLOCK_MONOTONIC);
    const bool isDone = attempt(lane, *job, owner);
    lock.lock();
    lane.queue.charge(owner, clockNanoseconds(CLOCK_MONOTONIC) - begun);
    lane.worksForUser = false;
    if (isDone) {
      job->isDone = true;
      if (job->index) finishedBytes_ += job->index->memoryBytes();
      finished_.push_back(job);
    } else {
      job->isSlow = true;
      enter(slow_, owner, job);
    }
    done_.notifyAll();
  }
}

bool SymbolReader::attempt(Lane& lane, SymbolJob& job, uint32_t owner) {
  // A user whose files are not read before others any more holds nobody up.
  if (&lane == &quick_ && !parserOf(lane, owner).mayHasten(owner)) return false;
  try {
    read(lane, job, owner);
  } catch (const Interrupted&) {
    return false;
  } catch (const TakesTooMuch& error) {
    if (&lane == &quick_) return false;
    job.why = error.what();
  } catch (const std::exception& error) {
    job.why = reasonOf(error);
  }
  return true;
}

void SymbolReader::read(Lane& lane, SymbolJob& job, uint32_t owner) {
  const int fd = job.file->file().get();
  Parser& parser = parserOf(lane, owner);
  const AskParser ask = [&](ParseTask task, const std::vector<int>& files, std::span<const uint8_t> given) {
    return parser.ask(task, owner, files, given);
  };
  if (job.named)
    job.names = readNames(ask, job.named->sourcesOf(fd), job.wanted.request);
  else
    job.index = readSymbolIndex(ask, fd, job.file->rootPath());
}

}  // namespace polytop
