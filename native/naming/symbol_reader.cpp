// SPDX-License-Identifier: Apache-2.0
#include "naming/symbol_reader.h"

#include <utility>

#include "mapped/identity.h"
#include "naming/read_symbols.h"
#include "util/failure.h"
#include "util/first_turn.h"
#include "util/priority.h"

namespace polytop {

SymbolReader::~SymbolReader() {
  parserOfRoot_.close();
  parserOfUsers_.close();
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SymbolReader::post(std::shared_ptr<SymbolJob> job) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(job));
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  }
  wake_.notify_all();
}

bool SymbolReader::wait(const SymbolJob& job, Clock::time_point until) {
  std::unique_lock lock(mutex_);
  return done_.wait_until(lock, until, [&] { return job.isDone; });
}

std::vector<std::shared_ptr<SymbolJob>> SymbolReader::takeDone() {
  std::lock_guard lock(mutex_);
  return std::exchange(finished_, {});
}

void SymbolReader::work() {
  raisePriority();
  std::unique_lock lock(mutex_);
  for (;;) {
    comeFirst();
    wake_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (closing_) return;
    const std::shared_ptr<SymbolJob> job = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    try {
      read(*job);
    } catch (const std::exception& error) {
      job->why = reasonOf(error);
    }
    lock.lock();
    job->isDone = true;
    finished_.push_back(job);
    done_.notify_all();
  }
}

void SymbolReader::read(SymbolJob& job) {
  const int fd = job.file->file().get();
  const uint32_t owner = ownerOf(fd);
  Parser& parser = owner == 0 ? parserOfRoot_ : parserOfUsers_;
  const AskParser ask = [&](ParseTask task, const std::vector<int>& files, std::span<const uint8_t> given) {
    return parser.ask(task, owner, files, given);
  };
  if (job.named)
    job.names = readNames(ask, job.named->sourcesOf(fd), job.wanted.request);
  else
    job.index = readSymbolIndex(ask, fd, job.file->rootPath());
}

}  // namespace polytop
