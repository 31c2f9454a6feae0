// SPDX-License-Identifier: Apache-2.0
#include "naming/symbol_reader.h"

#include <span>
#include <utility>

#include "mapped/identity.h"
#include "naming/read_symbols.h"
#include "turns/first_turn.h"
#include "util/clock.h"
#include "util/failure.h"
#include "util/priority.h"

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
  if (!lane.thread.joinable() && !closing_) lane.thread = std::thread([this, &lane] { work(lane); });
  wake_.notifyAll();
}

bool SymbolReader::wait(const SymbolJob& job, Clock::time_point until) {
  std::unique_lock lock(mutex_);
  return done_.waitUntil(lock, until, [&] { return job.isDone; });
}

std::vector<std::shared_ptr<SymbolJob>> SymbolReader::takeDone() {
  std::lock_guard lock(mutex_);
  return std::exchange(finished_, {});
}

void SymbolReader::work(Lane& lane) {
  raisePriority();
  std::unique_lock lock(mutex_);
  for (;;) {
    comeFirst();
    wake_.wait(lock, [&] { return closing_ || !lane.queue.empty(); });
    if (closing_) return;
    const Job job = lane.queue.pop();
    lock.unlock();
    const uint32_t owner = ownerOf(job->file->file().get());
    const uint64_t begun = clockNanoseconds(CLOCK_MONOTONIC);
    const bool isDone = attempt(lane, *job, owner);
    lock.lock();
    lane.queue.charge(owner, clockNanoseconds(CLOCK_MONOTONIC) - begun);
    if (!isDone) {
      enter(slow_, owner, job);
      continue;
    }
    job->isDone = true;
    finished_.push_back(job);
    done_.notifyAll();
  }
}

bool SymbolReader::attempt(Lane& lane, SymbolJob& job, uint32_t owner) {
  // A user whose files are not read before others any more holds nobody up.
  if (&lane == &quick_ && owner != 0 && !lane.ofUsers.mayHasten(owner)) return false;
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
  Parser& parser = owner == 0 ? lane.ofRoot : lane.ofUsers;
  const AskParser ask = [&](ParseTask task, const std::vector<int>& files, std::span<const uint8_t> given) {
    return parser.ask(task, owner, files, given);
  };
  if (job.named)
    job.names = readNames(ask, job.named->sourcesOf(fd), job.wanted.request);
  else
    job.index = readSymbolIndex(ask, fd, job.file->rootPath());
}

}  // namespace polytop
