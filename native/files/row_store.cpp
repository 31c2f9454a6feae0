// SPDX-License-Identifier: Apache-2.0
#include "files/row_store.h"

#include <bpf/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

namespace polytop {

namespace {

/// So many more are made where one is full: 4 MB.
constexpr size_t kShardsAtOnce = 8;

size_t wholePages(size_t bytes) { return (bytes + 4095) & ~size_t{4095}; }

/// The memory of a BPF array that was made with BPF_F_MMAPABLE, from an element on that begins a page.
template <typename Element>
Element* mapArray(int fd, size_t count, size_t first = 0) {
  void* memory = mmap(nullptr, wholePages(count * sizeof(Element)), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                      static_cast<off_t>(first * sizeof(Element)));
  return memory == MAP_FAILED ? nullptr : static_cast<Element*>(memory);
}

FileDescriptor makeShard() {
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
  return FileDescriptor(bpf_map_create(BPF_MAP_TYPE_ARRAY, "row_shard", sizeof(uint32_t), BLOCK_ROWS * sizeof(uint32_t),
                                       SHARD_BLOCKS, &options));
}

}  // namespace

bool Extents::take(uint32_t count, uint32_t& first) {
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second.count < count) continue;
    first = it->first;
    const Extent rest{it->second.count - count, it->second.range};
    free_.erase(it);
    if (rest.count) free_.emplace(first + count, rest);
    return true;
  }
  return false;
}

void Extents::release(uint32_t first, uint32_t count, uint32_t rangeFirst) {
  auto next = free_.lower_bound(first);
  if (next != free_.end() && next->first == first + count && next->second.range == rangeFirst) {
    count += next->second.count;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto previous = std::prev(next);
    if (previous->second.range == rangeFirst && previous->first + previous->second.count == first) {
      previous->second.count += count;
      return;
    }
  }
  free_.emplace(first, Extent{count, rangeFirst});
}

RowStore::~RowStore() {
  if (pages_) munmap(pages_, wholePages(MAX_PAGES * sizeof(page_entry)));
  if (rules_) munmap(rules_, wholePages(MAX_RULES * sizeof(unwind_rule)));
  if (files_) munmap(files_, wholePages(MAX_FILES * sizeof(file_entry)));
}

void RowStore::open(const Session& session) {
  outerFd_ = session.mapFd("shards");
  pages_ = mapArray<page_entry>(session.mapFd("pages"), MAX_PAGES);
  rules_ = mapArray<unwind_rule>(session.mapFd("rules"), MAX_RULES);
  files_ = mapArray<file_entry>(session.mapFd("files"), MAX_FILES);
  if (!pages_ || !rules_ || !files_) throw Failure("the unwind tables cannot be mapped", errno);
  freePages_.add(0, MAX_PAGES);
}

bool RowStore::addShards() {
  std::vector<uint32_t> indexes;
  std::vector<FileDescriptor> maps;
  std::vector<int> descriptors;
  for (size_t i = shards_.size(); i < MAX_SHARDS && maps.size() < kShardsAtOnce; i++) {
    FileDescriptor map = makeShard();
    if (!map.valid()) break;
    indexes.push_back(static_cast<uint32_t>(i));
    descriptors.push_back(map.get());
    maps.push_back(std::move(map));
  }
  // The kernel waits some 10 ms for running programs after each update, but once for all of these (from 6.0 on).
  auto count = static_cast<uint32_t>(maps.size());
  if (count == 0) return false;
  if (bpf_map_update_batch(outerFd_, indexes.data(), descriptors.data(), &count, nullptr) != 0)
    count = bpf_map_update_elem(outerFd_, indexes.data(), descriptors.data(), BPF_ANY) == 0 ? 1 : 0;
  for (uint32_t i = 0; i < count; i++) {
    shards_.push_back(std::move(maps[i]));
    // Each block is a range of its own: the rows of one page never straddle two.
    for (uint32_t block = 0; block < SHARD_BLOCKS; block++)
      freeRows_.add(indexes[i] * SHARD_ROWS + block * BLOCK_ROWS, BLOCK_ROWS);
  }
  return count > 0;
}

bool RowStore::takeRows(uint32_t count, uint32_t& first) {
  return freeRows_.take(count, first) || (addShards() && freeRows_.take(count, first));
}

void RowStore::publishRules(RuleSet& rules) {
  for (const auto& [index, rule] : rules.takeChanges()) rules_[index] = rule;
}

size_t RowStore::pagesOf(const UnwindTable& table) {
  return table.pages.empty() ? 0 : size_t{table.pages.back().page} - table.pages.front().page + 1;
}

bool RowStore::place(const UnwindTable& table, RuleSet& rules, Placement& placement) {
  placement = {};
  if (table.pages.empty()) return true;
  const uint32_t base = table.pages.front().page;
  const size_t span = pagesOf(table);
  if (span > MAX_PAGES || !freePages_.take(static_cast<uint32_t>(span), placement.firstPage)) return false;
  placement.pageCount = static_cast<uint32_t>(span);
  pageCount_ += span;
  for (uint32_t i = 0; i < placement.pageCount; i++) pages_[placement.firstPage + i] = {};
  publishRules(rules);
  std::vector<Move> moves;
  moves.reserve(table.pages.size());
  bool hasRoom = true;
  for (const PageRows& page : table.pages) {
    uint32_t first = 0;
    if (page.count == 0 || page.count > BLOCK_ROWS) continue;
    if (!(hasRoom = takeRows(page.count, first))) break;
    moves.push_back({first, page.first, page.count});
    pages_[placement.firstPage + (page.page - base)] = {first, page.count};
  }
  std::sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) { return a.to < b.to; });
  for (const Move& move : moves) placement.add(move.to, move.count);
  rowCount_ += placement.rowCount;
  if (hasRoom && write(table.rows, moves)) return true;
  remove(placement);
  placement = {};
  return false;
}

bool RowStore::write(const std::vector<uint32_t>& rows, std::span<const Move> moves) {
  const auto blockOf = [](const Move& move) { return move.to / BLOCK_ROWS; };
  for (size_t i = 0; i < moves.size();) {
    const uint32_t shard = moves[i].to / SHARD_ROWS, firstBlock = blockOf(moves[i]);
    uint32_t lastBlock = firstBlock;
    size_t end = i;
    for (; end < moves.size() && moves[end].to / SHARD_ROWS == shard && blockOf(moves[end]) <= lastBlock + 1; end++)
      lastBlock = blockOf(moves[end]);
    const size_t count = size_t{lastBlock + 1 - firstBlock} * BLOCK_ROWS;
    auto* mapped = mapArray<uint32_t>(shards_[shard].get(), count, size_t{firstBlock % SHARD_BLOCKS} * BLOCK_ROWS);
    if (!mapped) return false;
    for (; i < end; i++) {
      const Move& move = moves[i];
      std::copy_n(rows.begin() + move.from, move.count, mapped + (move.to - firstBlock * BLOCK_ROWS));
    }
    munmap(mapped, count * sizeof(uint32_t));
  }
  return true;
}

void RowStore::remove(const Placement& placement) {
  for (uint32_t i = 0; i < placement.pageCount; i++) pages_[placement.firstPage + i] = {};
  for (const Placement::Run& run : placement.rows)
    freeRows_.release(run.first, run.count, run.first / BLOCK_ROWS * BLOCK_ROWS);
  rowCount_ -= placement.rowCount;
  pageCount_ -= placement.pageCount;
  if (placement.pageCount) freePages_.release(placement.firstPage, placement.pageCount, 0);
}

void RowStore::setFile(uint32_t id, const file_entry& entry) {
  // The rows are written before the state that lets the walk use them.
  files_[id].first_page = entry.first_page;
  files_[id].page_base = entry.page_base;
  files_[id].page_count = entry.page_count;
  files_[id].interpreter = entry.interpreter;
  files_[id].interpreter_index = entry.interpreter_index;
  std::atomic_thread_fence(std::memory_order_release);
  files_[id].state = entry.state;
}

}  // namespace polytop
