// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>

#include <algorithm>
#include <utility>

#include "files.h"

namespace polytop {

namespace {

/// Rows kept at most: 4 bytes each in the memory of the kernel.
constexpr size_t kMaxRows = 2'600'000;
/// Files kept at most: each holds a descriptor.
constexpr size_t kMaxEntries = 2048;

}  // namespace

bool Files::mustEvict() {
  std::lock_guard lock(mutex_);
  return store_.rowCount() > kMaxRows || entries_.size() > kMaxEntries || !waiting_.empty();
}

void Files::forget(Entry& entry) {
  bpf_map_delete_elem(idsFd_, &entry.key);
  bpf_map_delete_elem(askedFd_, &entry.key);
  if (entry.info.runtime == INTERPRETER_DOTNET) bpf_map_delete_elem(dotnetsFd_, &entry.info.id);
  store_.setFile(entry.info.id, {});
}

void Files::evict(Session& session) {
  std::lock_guard lock(mutex_);
  // Ids evicted two calls ago can be in no stack any more.
  freeIds_.insert(freeIds_.end(), quarantine_[1].begin(), quarantine_[1].end());
  quarantine_[1] = std::exchange(quarantine_[0], {});

  std::vector<Entry*> oldest;
  for (auto& [id, entry] : entries_) {
    if (id != FILE_VDSO) oldest.push_back(entry.get());
  }
  std::sort(oldest.begin(), oldest.end(), [](const Entry* a, const Entry* b) { return a->lastSeen < b->lastSeen; });
  size_t rows = store_.rowCount(), count = entries_.size();
  std::vector<Entry*> victims;
  for (Entry* entry : oldest) {
    // Where a file waits for room, a part goes even if the rows are few: pages may be what lacks.
    const bool enough = rows <= kMaxRows / 4 * 3 && count <= kMaxEntries / 4 * 3;
    if (enough && (waiting_.empty() || victims.size() * 4 >= oldest.size())) break;
    rows -= entry->placement.rowCount;
    count--;
    forget(*entry);
    victims.push_back(entry);
  }
  session.forgetMappings();
  // No walk that began before may still read the rows when they are given to another file.
  Session::waitForRuns();
  for (Entry* entry : victims) {
    store_.remove(entry->placement);
    entry->placement = {};
    evicted_.push_back(entry->info.id);
    if (entry->info.perlIndex) perlUsed_[entry->info.perlIndex] = false;
  }
  for (const file_key& key : waiting_) bpf_map_delete_elem(askedFd_, &key);
  waiting_.clear();
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
