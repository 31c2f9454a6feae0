// SPDX-License-Identifier: Apache-2.0
#include "memory/read_pages.h"

#include <algorithm>
#include <cstring>

namespace polytop {

ReadPages::Found ReadPages::copy(pid_t pid, uint64_t address, void* into, size_t size) {
  auto* to = static_cast<uint8_t*>(into);
  while (size > 0) {
    const uint64_t offset = address % kPage;
    const size_t part = std::min<size_t>(size, kPage - offset);
    const Place& place = find(pid, address - offset);
    if (place.found != Found::kHere) return place.found;
    memcpy(to, place.page->data() + offset, part);
    to += part;
    address += part;
    size -= part;
  }
  return Found::kHere;
}

const ReadPages::Place& ReadPages::find(pid_t pid, uint64_t page) {
  static const Place kNoRoom = {Found::kMissing, nullptr};
  const Key key = {pid, page};
  const auto known = pages_.find(key);
  if (known != pages_.end()) return known->second;
  if (pages_.size() >= kMaxPages) return kNoRoom;
  awaited_.push_back(key);
  return pages_[key];
}

void ReadPages::fetch() {
  std::vector<WantedBytes> wanted;
  for (const Key& key : awaited_) {
    Place& place = pages_[key];
    place.page = unusedPage();
    wanted.push_back({key.pid, key.page, place.page->data(), kPage, 0});
  }
  memory_.read(wanted);
  for (size_t i = 0; i < awaited_.size(); i++)
    pages_[awaited_[i]].found = wanted[i].got == kPage ? Found::kHere : Found::kMissing;
  awaited_.clear();
}

ReadPages::Page* ReadPages::unusedPage() {
  if (used_ == room_.size()) room_.push_back(std::make_unique_for_overwrite<Page>());
  return room_[used_++].get();
}

void ReadPages::clear() {
  pages_.clear();
  awaited_.clear();
  room_.resize(std::min(room_.size(), kKeptPages));
  used_ = 0;
}

}  // namespace polytop
