// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "files/catalog.h"
#include "util/clock.h"

namespace polytop {

namespace {

/// Each eviction has the walk look all mappings up again: not more often than this, in ns.
constexpr uint64_t kPause = 3'000'000'000;
/// What was not sampled for this time, in ns, is let go; it is looked for as often.
constexpr uint64_t kUnseen = 60'000'000'000;
constexpr uint64_t kUnseenPause = kUnseen / 2;
/// How long a file that is not sampled may have changed before that is seen, in ns.
constexpr uint64_t kLookPause = 10'000'000'000;
/// Frames are renewed when there are fewer ids.
constexpr size_t kMinIds = 1024;
/// Rows of tables that are kept while they wait, 4 bytes each.
constexpr size_t kMaxWaitingRows = kWholeRoom.rows / 4;

}  // namespace

Room Catalog::usedRoom() const { return {store_.rowCount(), store_.pageCount(), entries_.size()}; }

Room Catalog::usedBy(uint32_t owner) const {
  Room used;
  for (const auto& [id, entry] : entries_) {
    if (id != FILE_VDSO && entry.owner == owner)
      used = used + Room{entry.placement.rowCount, entry.placement.pageCount, 1};
  }
  return used;
}

bool Catalog::mayEnter(const file_key& key, uint32_t owner, bool isAnnounced) {
  std::lock_guard lock(mutex_);
  const size_t free = kWholeRoom.files - std::min(kWholeRoom.files, entries_.size());
  const bool isRefused =
      roomOfUser(owner, usedBy(owner).files, free) == 0 || !churn_.mayRead(key, clockNanoseconds(CLOCK_MONOTONIC));
  if (isRefused && !isAnnounced) unanswered_.push_back(key);
  return !isRefused && !(isAnnounced && isTight(usedRoom()));
}

void Catalog::holdStarts(Entry& entry) {
  if (!entry.file) return;
  const size_t starts = entry.file->startCount();
  if (starts_.take(entry.owner, starts)) {
    entry.starts = starts;
    return;
  }
  entry.file->dropStarts();
  entry.info.refusal = "is named by its symbols alone: it has " + std::to_string(starts) +
                       " functions, a file of user " + std::to_string(entry.owner);
}

void Catalog::wait(Entry& entry, UnwindTable table) {
  // Never with a part of its rows: walking it by the frame pointer would show wrong callers.
  entry.info.state = FILE_NO_ROOM;
  entry.lacks = {table.rows.size(), RowStore::pagesOf(table), 0};
  entry.info.why = "there is no room for its unwind table of " + std::to_string(entry.lacks.rows) + " rows";
  size_t rows = entry.lacks.rows;
  for (const auto& [id, other] : entries_) rows += other.waiting ? other.lacks.rows : 0;
  const bool canFit = entry.lacks.rows <= kWholeRoom.rows && entry.lacks.pages <= kWholeRoom.pages;
  if (canFit && rows <= kMaxWaitingRows) entry.waiting = std::make_unique<UnwindTable>(std::move(table));
  show(entry);
}

void Catalog::refuse(Entry& entry, const Room& needs) {
  entry.info.state = FILE_NO_ROOM;
  entry.isRefused = true;
  entry.info.why = "its unwind table takes " + std::to_string(needs.rows) + " rows and " + std::to_string(needs.pages) +
                   " pages, more than half of what all files have";
  entry.info.refusal = "is not unwound: " + entry.info.why + ", a file of user " + std::to_string(entry.owner);
  show(entry);
}

std::vector<Tenant> Catalog::tenants() const {
  std::vector<Tenant> all;
  for (const auto& [id, entry] : entries_) {
    if (id == FILE_VDSO || entry.isEvicted) continue;
    const RowStore::Placement& placement = entry.placement;
    const bool isWaiting = entry.info.state == FILE_NO_ROOM && !entry.isRefused;
    all.push_back({id,
                   entry.lastSeen,
                   {placement.rowCount, placement.pageCount, 1},
                   isWaiting,
                   entry.lacks,
                   entry.builtAt,
                   entry.waiting != nullptr,
                   entry.owner});
  }
  return all;
}

void Catalog::letGo(Session& session, uint64_t now) {
  std::lock_guard lock(mutex_);
  const bool looksForUnseen = now >= unseenLetGo_ + kUnseenPause;
  std::vector<uint32_t> victims;
  for (auto& [id, entry] : entries_) {
    if (id == FILE_VDSO || !entry.file) continue;
    const bool isUnseen = looksForUnseen && now >= entry.lastSeen + kUnseen;
    if (isUnseen || !isUnchanged(entry, now)) victims.push_back(id);
  }
  if (looksForUnseen) unseenLetGo_ = now;
  if (!victims.empty()) evict(session, victims);
}

bool Catalog::isUnchanged(Entry& entry, uint64_t now) {
  if (entry.lastSeen < entry.lookedAt && now < entry.lookedAt + kLookPause) return true;
  entry.lookedAt = now;
  return entry.file->isUnchanged();
}

void Catalog::makeRoom(Session& session, uint64_t now) {
  std::lock_guard lock(mutex_);
  if (now < roomMade_ + kPause) return;
  const bool isWaitedFor = std::any_of(entries_.begin(), entries_.end(), [](const auto& it) {
    return it.second.info.state == FILE_NO_ROOM && !it.second.isRefused && !it.second.isEvicted;
  });
  if (!isWaitedFor && !isTight(usedRoom()) && unanswered_.empty()) return;
  const RoomPlan plan = planRoom(tenants(), usedRoom(), now);
  if (!plan.victims.empty()) evict(session, plan.victims);
  if (!plan.admitted.empty()) admit(session, plan.admitted);
  if (entries_.size() - plan.victims.size() < kWholeRoom.files) {
    for (const file_key& key : unanswered_) askAgain(key);
    unanswered_.clear();
  }
  roomMade_ = now;
}

void Catalog::evict(Session& session, const std::vector<uint32_t>& victims) {
  for (const uint32_t id : victims) {
    bpf_map_delete_elem(idsFd_, &entries_[id].key);
    askAgain(entries_[id].key);
    store_.setFile(id, {});
  }
  session.forgetMappings();
  // No walk that began before may still read the rows when they are given to another file.
  Session::waitForRuns();
  for (const uint32_t id : victims) {
    Entry& entry = entries_[id];
    entry.isEvicted = true;
    store_.remove(entry.placement);
    entry.placement = {};
    entry.rules = {};
    entry.waiting.reset();
    evicted_.push_back(id);
    if (entry.runtime) entry.runtime->withdraw(id);
  }
}

void Catalog::admit(Session& session, const std::vector<uint32_t>& admitted) {
  for (const uint32_t id : admitted) {
    Entry& entry = entries_[id];
    // The pages that are free may lie apart: it waits on then.
    if (!publish(entry, *entry.waiting)) continue;
    entry.info.why = std::move(entry.waiting->warning);
    entry.rules = std::move(entry.waiting->lease);
    entry.waiting.reset();
    news_.push_back(entry.info);
  }
  // Cached mappings hold the state of a file.
  session.forgetMappings();
}

std::vector<uint32_t> Catalog::forgetEvicted() {
  std::lock_guard lock(mutex_);
  std::vector<uint32_t> closed = std::exchange(evicted_, {});
  for (const uint32_t id : closed) {
    starts_.giveBack(entries_[id].owner, entries_[id].starts);
    entries_.erase(id);
    quarantine_[0].push_back(id);
  }
  return closed;
}

bool Catalog::wantsRenewal() const {
  std::lock_guard lock(mutex_);
  return MAX_FILES - nextId_ + freeIds_.size() < kMinIds && !(quarantine_[0].empty() && quarantine_[1].empty());
}

bool Catalog::renewed() {
  std::lock_guard lock(mutex_);
  const std::vector<uint32_t> unused = std::exchange(quarantine_[1], std::exchange(quarantine_[0], {}));
  freeIds_.insert(freeIds_.end(), unused.begin(), unused.end());
  return !unused.empty();
}

}  // namespace polytop
