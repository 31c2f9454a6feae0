// SPDX-License-Identifier: Apache-2.0
#include "naming/symbol_room.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "mapped/identity.h"
#include "util/fair_share.h"
#include "util/utf8.h"

namespace polytop {

void SymbolRoom::makeReady(const std::vector<std::shared_ptr<OpenFile>>& files) {
  std::vector<std::shared_ptr<SymbolJob>> jobs;
  for (const std::shared_ptr<OpenFile>& file : files) {
    uses_++;
    if (!file->lacksSymbols()) {
      // Only those that take much are looked for: they are few.
      if (file->symbolBytes() == 0) continue;
      const auto own = std::find_if(held_.begin(), held_.end(), [&](const Held& it) { return it.file.lock() == file; });
      if (own != held_.end()) own->usedAt = uses_;
      continue;
    }
    file->beginReading();
    jobs.push_back(std::make_shared<SymbolJob>());
    jobs.back()->file = file;
  }
  attend(jobs);
}

void SymbolRoom::readNames(const std::vector<std::shared_ptr<OpenFile>>& files) {
  std::vector<std::shared_ptr<SymbolJob>> jobs;
  for (const std::shared_ptr<OpenFile>& file : files) {
    while (file->wantsNames()) {
      jobs.push_back(std::make_shared<SymbolJob>());
      jobs.back()->file = file;
      jobs.back()->named = file->symbols();
      jobs.back()->wanted = file->symbols()->takeWanted();
    }
  }
  attend(jobs);
}

void SymbolRoom::attend(const Jobs& jobs) {
  if (jobs.empty()) return;
  for (const std::shared_ptr<SymbolJob>& job : jobs) reader_.post(job);
  const Clock::time_point start = Clock::now();
  const Clock::duration left = std::max<Clock::duration>(kTimeInRefresh - spent_, {});
  Jobs ofRoot;
  std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(ofRoot),
               [](const auto& job) { return ownerOf(job->file->file().get()) == 0; });
  if (ofRoot.size() < jobs.size()) {
    await(jobs, start + std::min(left, timeForUsers(start)));
    savedForUsers_ -= Clock::now() - start;
  }
  await(ofRoot, start + left);
  deliver();
  // That of those that are not delivered is asked only.
  for (const std::shared_ptr<SymbolJob>& job : jobs) job->isLate = true;
  spent_ += Clock::now() - start;
}

void SymbolRoom::await(const Jobs& jobs, Clock::time_point until) {
  while (!reader_.wait(jobs, until) && Clock::now() < until) deliver();
}

SymbolRoom::Clock::duration SymbolRoom::timeForUsers(Clock::time_point now) {
  savedForUsers_ += (now - std::exchange(savedUntil_, now)) / kPartForUsers;
  savedForUsers_ = std::clamp<Clock::duration>(savedForUsers_, {}, kTimeForUsers);
  return savedForUsers_;
}

void SymbolRoom::beginRefresh() {
  spent_ = {};
  if (Clock::now() - namesForgotten_ >= kNamesKept) forgetNames();
  eachIndex([](SymbolIndex& index) { index.forgetManyNames(); });
  // What was late is for this refresh.
  deliver();
}

void SymbolRoom::forgetNames() {
  namesForgotten_ = Clock::now();
  eachIndex([](SymbolIndex& index) { index.forgetNames(); });
}

template <typename Visit>
void SymbolRoom::eachIndex(Visit visit) const {
  for (const Held& it : held_) {
    const std::shared_ptr<OpenFile> file = it.file.lock();
    if (file && file->symbols()) visit(*file->symbols());
  }
}

void SymbolRoom::deliver() {
  for (const std::shared_ptr<SymbolJob>& job : reader_.takeDone()) {
    const bool isRead = job->why.empty();
    // Functions that were met meanwhile are named now.
    hasWaited_ |= isRead && (job->isLate || job->file->hasFailed());
    if (!isRead) notice(*job->file, job->why);
    if (job->named) {
      job->named->take(job->wanted.functions, std::move(job->names));
      job->file->noteNames(isRead);
      while (bytes() > maxBytes_ && letOldestGo(ownerOf(job->file->file().get()))) continue;
    } else {
      job->file->takeSymbols(std::move(job->index));
      hold(job->file);
    }
  }
}

void SymbolRoom::notice(const OpenFile& file, const std::string& why) {
  if (notices_.size() >= kMaxNotices) return;
  notices_.push_back(plainText(file.path()) + " is without names: " + why + nameOwner(file.file().get()));
}

void SymbolRoom::hold(const std::shared_ptr<OpenFile>& file) {
  std::erase_if(held_, [&](const Held& it) {
    const std::shared_ptr<OpenFile> other = it.file.lock();
    if (other && other->isOfOneInode(*file)) other->dropSymbols();
    return !other || !other->symbolBytes();
  });
  const size_t size = file->symbolBytes();
  if (size == 0) return;
  const uint32_t owner = ownerOf(file->file().get());
  const auto finds = [&] {
    return size <= roomOfUser(owner, bytesOf(owner), maxBytes_ - std::min(maxBytes_, bytes()));
  };
  while (!finds() && letOldestGo(owner)) continue;
  if (finds()) {
    held_.push_back({file, owner, uses_});
  } else {
    file->takeSymbols(nullptr);
    notice(*file, "there is no room for them");
  }
}

bool SymbolRoom::letOldestGo(uint32_t owner) {
  auto oldest = held_.end();
  const auto look = [&](auto isWanted) {
    for (auto it = held_.begin(); it != held_.end(); ++it) {
      if (isWanted(*it) && (oldest == held_.end() || it->usedAt < oldest->usedAt)) oldest = it;
    }
  };
  look([owner](const Held& it) { return owner == 0 ? it.owner != 0 : it.owner == owner; });
  // Root's keep a half.
  if (oldest == held_.end() && (owner == 0 || bytesOf(0) > maxBytes_ / 2))
    look([](const Held& it) { return it.owner == 0; });
  if (oldest == held_.end()) return false;
  if (const std::shared_ptr<OpenFile> file = oldest->file.lock()) file->dropSymbols();
  held_.erase(oldest);
  return true;
}

size_t SymbolRoom::bytesOf(std::optional<uint32_t> owner) const {
  size_t sum = 0;
  for (const Held& it : held_) {
    if (owner && it.owner != *owner) continue;
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
