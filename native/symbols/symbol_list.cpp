// SPDX-License-Identifier: Apache-2.0
#include "symbols/symbol_list.h"

#include <utility>

#include "util/wire.h"

namespace polytop {

namespace {

/// Both tables of a file together have fewer (symbol_table.cpp).
constexpr uint64_t kMaxEntries = 8u << 20;
constexpr uint64_t kMaxUnpacked = 64u << 20;

bool isSoundPlace(const NamePlace& place, const SymbolList& list) {
  if (place.source > NameSource::kUnpacked || place.size > INT32_MAX || place.offset > INT64_MAX) return false;
  if (place.source != NameSource::kUnpacked) return true;
  return place.offset <= list.unpackedNames.size() && place.size <= list.unpackedNames.size() - place.offset;
}

bool isSoundEntry(const SymbolEntry& entry, const SymbolList& list) {
  const NamePlace& names = entry.dynamic() ? list.dynamicNames : list.names;
  return (entry.name & SymbolEntry::kNameMask) < names.size;
}

bool isSound(const SymbolList& list) {
  if (!isSoundPlace(list.names, list) || !isSoundPlace(list.dynamicNames, list)) return false;
  uint32_t last = 0;
  for (const SymbolEntry& entry : list.entries) {
    if (entry.start < std::exchange(last, entry.start) || !isSoundEntry(entry, list)) return false;
  }
  return true;
}

}  // namespace

std::vector<uint8_t> encodeSymbols(const SymbolList& list) {
  WireWriter writer;
  writer.reserve(list.entries.size() * sizeof(SymbolEntry) + list.unpackedNames.size() + sizeof(SymbolList));
  writer.put(static_cast<uint8_t>(list.isWhole));
  writer.put(list.names);
  writer.put(list.dynamicNames);
  writer.putList(list.unpackedNames);
  writer.putList(list.entries);
  return writer.take();
}

bool decodeSymbols(std::span<const uint8_t> bytes, SymbolList& list) {
  WireReader reader(bytes);
  SymbolList read;
  read.isWhole = reader.get<uint8_t>() != 0;
  read.names = reader.get<NamePlace>();
  read.dynamicNames = reader.get<NamePlace>();
  read.unpackedNames = reader.getList<uint8_t>(kMaxUnpacked);
  read.entries = reader.getList<SymbolEntry>(kMaxEntries);
  if (!reader.isAtEnd() || !isSound(read)) return false;
  list = std::move(read);
  return true;
}

}  // namespace polytop
