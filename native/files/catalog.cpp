// SPDX-License-Identifier: Apache-2.0
#include "files/catalog.h"

#include <bpf/bpf.h>

#include <utility>

#include "util/clock.h"

namespace polytop {

void Catalog::open(const Session& session) {
  idsFd_ = session.mapFd("file_ids");
  askedFd_ = session.mapFd("asked_files");
  store_.open(session);
  probes_ = makeProbes(session);
}

void Catalog::addVdso(BuiltFile built) {
  std::lock_guard lock(mutex_);
  Entry& entry = entries_[FILE_VDSO];
  entry.info = std::move(built.info);
  entry.info.id = FILE_VDSO;
  publish(entry, built.table);
  entry.rules = std::move(built.table.lease);
  entry.file = std::move(built.file);
  news_.push_back(entry.info);
}

size_t Catalog::add(BuiltFile built) {
  std::lock_guard lock(mutex_);
  const uint32_t id = takeId();
  Entry entry;
  entry.key = built.key;
  entry.info = std::move(built.info);
  entry.info.id = id;
  entry.info.runtime = built.runtime;
  entry.lastSeen = entry.builtAt = clockNanoseconds(CLOCK_MONOTONIC);
  entry.owner = built.owner;
  entry.runtime = std::move(built.runtime);
  entry.file = std::move(built.file);
  const size_t rows = built.table.rows.size();
  if (id) {
    holdStarts(entry);
    // The walk finds the file's id last: whoever sees that finds its rows and the facts of its runtime.
    if (entry.runtime && !entry.runtime->publish(id, entry.owner, entry.visible))
      entry.info.refusal =
          "holds an interpreter that there is no room for, a file of user " + std::to_string(entry.owner);
    const Room needs = {rows, RowStore::pagesOf(built.table), 0};
    if (!built.hasCode)
      show(entry);
    else if (!fits(needs, kMostOfFile))
      refuse(entry, needs);
    else if (publish(entry, built.table))
      entry.rules = std::move(built.table.lease);
    else
      wait(entry, std::move(built.table));
  }
  if (id == 0 || bpf_map_update_elem(idsFd_, &entry.key, &id, BPF_ANY) != 0) {
    if (!built.isAnnounced) unanswered_.push_back(built.key);
    store_.remove(entry.placement);
    starts_.giveBack(entry.owner, entry.starts);
    if (id && entry.runtime) entry.runtime->withdraw(id);
    if (id) freeIds_.push_back(id);
    return 0;
  }
  news_.push_back(entry.info);
  entries_[id] = std::move(entry);
  return rows;
}

bool Catalog::publish(Entry& entry, const UnwindTable& table) {
  const bool hasRows = !table.pages.empty();
  const Room needs = {table.rows.size(), RowStore::pagesOf(table), 0};
  if (store_.rowCount() + needs.rows > kWholeRoom.rows) return false;
  const Room free = freeOf(usedRoom(), kWholeRoom);
  if (entry.owner != 0 && !fits(needs, roomOfUser(entry.owner, usedBy(entry.owner), free))) return false;
  if (hasRows && !store_.place(table, rules_, entry.placement)) return false;
  entry.info.state = hasRows ? FILE_READY : FILE_NO_TABLE;
  if (hasRows) {
    entry.visible.first_page = entry.placement.firstPage;
    entry.visible.page_base = table.pages.front().page;
    entry.visible.page_count = entry.placement.pageCount;
  } else if (entry.info.why.empty()) {
    entry.info.why = "it has no unwind table";
  }
  show(entry);
  return true;
}

void Catalog::show(Entry& entry) {
  entry.visible.state = static_cast<uint16_t>(entry.info.state);
  store_.setFile(entry.info.id, entry.visible);
}

uint32_t Catalog::takeId() {
  if (!freeIds_.empty()) {
    const uint32_t id = freeIds_.back();
    freeIds_.pop_back();
    return id;
  }
  return nextId_ < MAX_FILES ? nextId_++ : 0;
}

void Catalog::askAgain(const file_key& key) const { bpf_map_delete_elem(askedFd_, &key); }

std::vector<FileInfo> Catalog::takeNews() {
  std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

void Catalog::touch(uint32_t id, uint64_t now) {
  std::lock_guard lock(mutex_);
  if (Entry* entry = find(id)) entry->lastSeen = now;
}

uint32_t Catalog::idOf(const file_key& key) const {
  uint32_t id = 0;
  return bpf_map_lookup_elem(idsFd_, &key, &id) == 0 ? id : 0;
}

Catalog::Entry* Catalog::find(uint32_t id) {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

file_key Catalog::keyOf(uint32_t id) {
  std::lock_guard lock(mutex_);
  const Entry* entry = find(id);
  return entry ? entry->key : file_key{};
}

std::shared_ptr<OpenFile> Catalog::open(uint32_t id) {
  std::lock_guard lock(mutex_);
  const Entry* entry = find(id);
  return entry ? entry->file : nullptr;
}

std::shared_ptr<const FoundRuntime> Catalog::runtimeOf(uint32_t id) {
  std::lock_guard lock(mutex_);
  const Entry* entry = find(id);
  return entry ? entry->runtime : nullptr;
}

}  // namespace polytop
