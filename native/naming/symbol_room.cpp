// SPDX-License-Identifier: Apache-2.0
#include "naming/symbol_room.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "mapped/identity.h"
#include "util/utf8.h"

namespace polytop {

void SymbolRoom::makeReady(const std::shared_ptr<OpenFile>& file) {
  uses_++;
  if (!file->lacksSymbols()) {
    // Only those that take much are looked for: they are few.
    if (file->symbolBytes() == 0) return;
    const auto own = std::find_if(held_.begin(), held_.end(), [&](const Held& it) { return it.file.lock() == file; });
    if (own != held_.end()) own->usedAt = uses_;
    return;
  }
  file->beginReading();
  const auto job = std::make_shared<SymbolJob>();
  job->file = file;
  attend(job);
}

void SymbolRoom::readNames(const std::shared_ptr<OpenFile>& file) {
  while (file->wantsNames()) {
    const auto job = std::make_shared<SymbolJob>();
    job->file = file;
    job->named = file->symbols();
    job->wanted = job->named->takeWanted();
    attend(job);
  }
}

void SymbolRoom::attend(const std::shared_ptr<SymbolJob>& job) {
  const Clock::time_point start = Clock::now();
  reader_.post(job);
  job->isLate = !reader_.wait(*job, start + std::max<Clock::duration>(kTimeInRefresh - spent_, {}));
  spent_ += Clock::now() - start;
  deliver();
}

void SymbolRoom::beginRefresh() {
  spent_ = {};
  deliver();
}

void SymbolRoom::deliver() {
  for (const std::shared_ptr<SymbolJob>& job : reader_.takeDone()) {
    const bool isRead = job->why.empty();
    // Functions that were met meanwhile are named now.
    hasWaited_ |= isRead && (job->isLate || job->file->hasFailed());
    if (!isRead) notice(*job);
    if (job->named) {
      job->named->take(job->wanted.functions, std::move(job->names));
      job->file->noteNames(isRead);
    } else {
      job->file->takeSymbols(std::move(job->index));
      hold(job->file);
    }
  }
}

void SymbolRoom::notice(const SymbolJob& job) {
  if (notices_.size() >= kMaxNotices) return;
  notices_.push_back(plainText(job.file->path()) + " is without names: " + job.why + nameOwner(job.file->file().get()));
}

void SymbolRoom::hold(const std::shared_ptr<OpenFile>& file) {
  std::erase_if(held_, [&](const Held& it) {
    const std::shared_ptr<OpenFile> other = it.file.lock();
    if (other && other->isOfOneInode(*file)) other->dropSymbols();
    return !other || !other->symbolBytes();
  });
  size_t all = bytes() + file->symbolBytes();
  std::sort(held_.begin(), held_.end(), [](const Held& a, const Held& b) { return a.usedAt < b.usedAt; });
  auto kept = held_.begin();
  for (; kept != held_.end() && all > maxBytes_; ++kept) {
    const std::shared_ptr<OpenFile> oldest = kept->file.lock();
    if (!oldest) continue;
    all -= oldest->symbolBytes();
    oldest->dropSymbols();
  }
  held_.erase(held_.begin(), kept);
  if (file->symbolBytes() > 0) held_.push_back({file, uses_});
}

size_t SymbolRoom::bytes() const {
  size_t sum = 0;
  for (const Held& it : held_) {
    if (const std::shared_ptr<OpenFile> file = it.file.lock()) sum += file->symbolBytes();
  }
  return sum;
}

bool SymbolRoom::mustNameAgain() {
  const Clock::time_point now = Clock::now();
  if (!hasWaited_ || now - namedAgain_ < kPause) return false;
  hasWaited_ = false;
  namedAgain_ = now;
  return true;
}

}  // namespace polytop
