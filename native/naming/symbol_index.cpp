// SPDX-License-Identifier: Apache-2.0
#include "naming/symbol_index.h"

#include <algorithm>
#include <utility>

#include "util/sealed_file.h"

namespace polytop {

namespace {

// A function within another one (hand-written assembler) is rare, and deeper nesting does not exist.
constexpr size_t kMaxNesting = 64;
/// Names of one file that are kept from refresh to refresh for whoever asks again, and what a refresh may make of them:
/// functions beyond that stay without a name.
constexpr size_t kMaxKeptNameBytes = 4 << 20, kMaxNameBytes = 8 << 20;
/// What is kept beside a name.
constexpr size_t kNameBytes = 96;

uint32_t startOfKey(uint64_t key) { return static_cast<uint32_t>(key >> 32); }
uint32_t sizeOfKey(uint64_t key) { return static_cast<uint32_t>(key); }

/// Whether a symbol may be of the code of an unwind entry. A function may have several of them: one that says its size
/// has all that it says.
bool mayBelongTo(const SymbolEntry& symbol, uint64_t entryStart) {
  if (symbol.binding() == Binding::kLabel) return symbol.start == entryStart;
  return symbol.start >= entryStart || !symbol.filled();
}

bool isBelow(const SymbolEntry& entry, uint32_t start) { return entry.start < start; }

}  // namespace

SymbolIndex::SymbolIndex(SymbolList list, FileDescriptor debugFile)
    : entries_(std::move(list.entries)),
      namesPlace_(list.names),
      dynamicNamesPlace_(list.dynamicNames),
      debugFile_(std::move(debugFile)) {
  if (!list.unpackedNames.empty()) unpackedNames_ = sealedFile(list.unpackedNames);
}

/// Calls `visit` for the symbols that hold the offset, the innermost first, until it returns true.
template <typename Visit>
void SymbolIndex::eachHolding(uint64_t offset, uint64_t functionStart, Visit visit) const {
  const auto above = std::upper_bound(entries_.begin(), entries_.end(), offset,
                                      [](uint64_t value, const SymbolEntry& entry) { return value < entry.start; });
  size_t steps = 0;
  for (auto entry = above; entry != entries_.begin() && steps < kMaxNesting; steps++) {
    --entry;
    if (!mayBelongTo(*entry, functionStart)) continue;
    if (offset - entry->start < entry->size() && visit(*entry)) return;
  }
}

std::span<const SymbolEntry> SymbolIndex::aliasesAt(uint32_t start) const {
  const auto first = std::lower_bound(entries_.begin(), entries_.end(), start, isBelow);
  auto last = first;
  while (last != entries_.end() && last->start == start && last - first < Aliases::kMost) ++last;
  return {first, last};
}

uint64_t SymbolIndex::keyOf(uint32_t start, uint64_t offset) const {
  uint32_t shortest = SymbolEntry::kMaxSize;
  for (const SymbolEntry& alias : aliasesAt(start)) {
    if (offset - start < alias.size()) shortest = std::min(shortest, alias.size());
  }
  return uint64_t{start} << 32 | shortest;
}

const SymbolIndex::Name& SymbolIndex::nameOf(uint64_t key) {
  static const Name kNone;
  const auto known = names_.find(key);
  if (known != names_.end()) return known->second;
  if (nameBytes_ > kMaxNameBytes || wanted_.size() + asked_ >= kMostWanted) return kNone;
  wanted_.push_back(key);
  nameBytes_ += kNameBytes;
  return names_[key];
}

void SymbolIndex::forgetManyNames() {
  if (nameBytes_ > kMaxKeptNameBytes) forgetNames();
}

void SymbolIndex::forgetNames() {
  names_ = {};
  wanted_ = {};
  nameBytes_ = 0;
}

std::optional<Symbol> SymbolIndex::find(uint64_t offset, uint64_t functionStart) {
  std::optional<Symbol> found;
  eachHolding(offset, functionStart, [&](const SymbolEntry& entry) {
    const Name& name = nameOf(keyOf(entry.start, offset));
    if (!name.isRead || !name.text.empty()) found = Symbol{name.text, entry.start};
    return found.has_value();
  });
  return found;
}

OffsetRange SymbolIndex::between(uint64_t offset, OffsetRange code) const {
  const auto above = std::upper_bound(entries_.begin(), entries_.end(), offset,
                                      [](uint64_t value, const SymbolEntry& entry) { return value < entry.start; });
  if (above != entries_.end() && above->start < code.end) code.end = above->start;
  size_t steps = 0;
  for (auto entry = above; entry != entries_.begin() && steps < kMaxNesting; steps++) {
    --entry;
    // One that holds the offset names nothing here: the code begins with it.
    const uint64_t end = uint64_t{entry->start} + entry->size();
    code.begin = std::max<uint64_t>(code.begin, end <= offset ? end : entry->start);
  }
  return code;
}

uint64_t SymbolIndex::startOf(uint64_t offset, uint64_t functionStart) const {
  uint64_t start = 0;
  eachHolding(offset, functionStart, [&](const SymbolEntry& entry) {
    start = entry.start;
    return true;
  });
  return start;
}

WantedNames SymbolIndex::takeWanted() {
  WantedNames taken;
  taken.request.names = namesPlace_;
  taken.request.dynamicNames = dynamicNamesPlace_;
  std::vector<SymbolEntry>& symbols = taken.request.symbols;
  while (!wanted_.empty() && taken.functions.size() < NameRequest::kMaxFunctions &&
         symbols.size() + Aliases::kMost <= NameRequest::kMaxSymbols) {
    const uint64_t key = wanted_.back();
    wanted_.pop_back();
    const auto first = static_cast<uint32_t>(symbols.size());
    for (const SymbolEntry& alias : aliasesAt(startOfKey(key))) {
      if (alias.size() >= sizeOfKey(key)) symbols.push_back(alias);
    }
    taken.functions.push_back(key);
    taken.request.functions.push_back({first, static_cast<uint32_t>(symbols.size()) - first});
  }
  asked_ += taken.functions.size();
  return taken;
}

int SymbolIndex::sourceOf(const NamePlace& place, int program) const {
  if (place.source == NameSource::kDebugFile && debugFile_.valid()) return debugFile_.get();
  if (place.source == NameSource::kUnpacked && unpackedNames_.valid()) return unpackedNames_.get();
  return program;
}

std::vector<int> SymbolIndex::sourcesOf(int program) const {
  return {sourceOf(namesPlace_, program), sourceOf(dynamicNamesPlace_, program)};
}

void SymbolIndex::take(const std::vector<uint64_t>& functions, std::vector<std::string> names) {
  asked_ -= std::min(asked_, functions.size());
  for (size_t i = 0; i < functions.size() && i < names.size(); i++) {
    if (nameBytes_ > kMaxNameBytes) return;
    const auto [name, isNew] = names_.try_emplace(functions[i]);
    nameBytes_ += names[i].size() + (isNew ? kNameBytes : 0) - name->second.text.size();
    name->second = {std::move(names[i]), true};
  }
}

size_t SymbolIndex::memoryBytes() const {
  return sizeof *this + entries_.capacity() * sizeof(SymbolEntry) + nameBytes_;
}

}  // namespace polytop
