// SPDX-License-Identifier: Apache-2.0
#include "symbols/symbol_room.h"

#include <algorithm>
#include <iterator>

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
  if (spent_ > kTimeInRefresh) {
    hasWaited_ = true;
    return;
  }
  const Clock::time_point start = Clock::now();
  file->readSymbols();
  spent_ += Clock::now() - start;
  hold(file);
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
