// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "files.h"

namespace polytop {

namespace {

/// Each eviction has all frames sent and numbered again: not more often than this, in ns.
constexpr uint64_t kPause = 3'000'000'000;
/// Rows of tables that are kept while they wait, 4 bytes each.
constexpr size_t kMaxWaitingRows = kWholeRoom.rows / 4;

}  // namespace

Room Files::usedRoom() const { return {store_.rowCount(), store_.pageCount(), entries_.size()}; }

void Files::wait(Entry& entry, UnwindTable table) {
  // Never with a part of its rows: walking it by the frame pointer would show wrong callers.
  entry.info.state = FILE_NO_ROOM;
  entry.lacks = {table.rows.size(), RowStore::pagesOf(table), 0};
  entry.info.why = "there is no room for its unwind table of " + std::to_string(entry.lacks.rows) + " rows";
  size_t rows = entry.lacks.rows;
  for (const auto& [id, other] : entries_) rows += other->waiting ? other->lacks.rows : 0;
  const bool canFit = entry.lacks.rows <= kWholeRoom.rows && entry.lacks.pages <= kWholeRoom.pages;
  if (canFit && rows <= kMaxWaitingRows) entry.waiting = std::make_unique<UnwindTable>(std::move(table));
  file_entry visible = {};
  visible.state = FILE_NO_ROOM;
  visible.interpreter = static_cast<uint16_t>(entry.info.runtime);
  visible.interpreter_index = entry.info.interpreterIndex();
  store_.setFile(entry.info.id, visible);
}

std::vector<Tenant> Files::tenants() const {
  std::vector<Tenant> all;
  for (const auto& [id, entry] : entries_) {
    if (id == FILE_VDSO) continue;
    const RowStore::Placement& placement = entry->placement;
    const bool isWaiting = entry->info.state == FILE_NO_ROOM;
    all.push_back({id,
                   entry->lastSeen,
                   {placement.rowCount, placement.pageCount, 1},
                   isWaiting,
                   entry->lacks,
                   entry->builtAt,
                   entry->waiting != nullptr});
  }
  return all;
}

bool Files::makeRoom(Session& session, uint64_t now) {
  std::lock_guard lock(mutex_);
  if (now < roomMade_ + kPause) return false;
  const bool isWaitedFor = std::any_of(entries_.begin(), entries_.end(),
                                       [](const auto& it) { return it.second->info.state == FILE_NO_ROOM; });
  if (!isWaitedFor && !isTight(usedRoom()) && unanswered_.empty()) return false;
  const RoomPlan plan = planRoom(tenants(), usedRoom(), now);
  if (!plan.victims.empty()) evict(session, plan.victims);
  if (!plan.admitted.empty()) admit(session, plan.admitted);
  if (entries_.size() - plan.victims.size() < kWholeRoom.files) {
    for (const file_key& key : unanswered_) bpf_map_delete_elem(askedFd_, &key);
    unanswered_.clear();
  }
  roomMade_ = now;
  return !plan.victims.empty();
}

void Files::forget(Entry& entry) {
  bpf_map_delete_elem(idsFd_, &entry.key);
  bpf_map_delete_elem(askedFd_, &entry.key);
  if (entry.info.runtime == INTERPRETER_DOTNET) bpf_map_delete_elem(dotnetsFd_, &entry.info.id);
  store_.setFile(entry.info.id, {});
}

void Files::evict(Session& session, const std::vector<uint32_t>& victims) {
  // Ids evicted two calls ago can be in no stack any more.
  freeIds_.insert(freeIds_.end(), quarantine_[1].begin(), quarantine_[1].end());
  quarantine_[1] = std::exchange(quarantine_[0], {});
  for (const uint32_t id : victims) forget(*entries_[id]);
  session.forgetMappings();
  // No walk that began before may still read the rows when they are given to another file.
  Session::waitForRuns();
  for (const uint32_t id : victims) {
    Entry& entry = *entries_[id];
    store_.remove(entry.placement);
    entry.placement = {};
    entry.waiting.reset();
    evicted_.push_back(id);
    if (entry.info.perlIndex) perlUsed_[entry.info.perlIndex] = false;
  }
}

void Files::admit(Session& session, const std::vector<uint32_t>& admitted) {
  for (const uint32_t id : admitted) {
    Entry& entry = *entries_[id];
    // The pages that are free may lie apart: it waits on then.
    if (!publish(entry, *entry.waiting, true)) continue;
    entry.waiting.reset();
    entry.info.why.clear();
    news_.push_back(entry.info);
  }
  // Cached mappings hold the state of a file.
  session.forgetMappings();
}

void Files::forgetEvicted() {
  std::lock_guard lock(mutex_);
  // Their ids are given to other files.
  if (!evicted_.empty()) functions_ = {};
  for (const uint32_t id : evicted_) {
    const auto found = entries_.find(id);
    closeFiles(found->second->fd, found->second->rootFd);
    entries_.erase(found);
    quarantine_[0].push_back(id);
  }
  evicted_.clear();
}

}  // namespace polytop
