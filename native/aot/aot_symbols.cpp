// SPDX-License-Identifier: Apache-2.0
#include "aot/aot_symbols.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "aot/aot_names.h"
#include "util/radix_sort.h"

namespace polytop {
namespace {

/// Between the type and the method in a mangled name.
constexpr std::string_view kSeparator = "__";

bool isPlain(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0; }

std::string_view textAt(const std::vector<uint8_t>& bytes, size_t offset) {
  if (offset >= bytes.size()) return {};
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + offset;
  return {text, strnlen(text, bytes.size() - offset)};
}

/// What mangled names begin with, by the types whose methods have them.
class MangledTypes {
 public:
  /// A method that has a name (`type.method`) and a symbol.
  void add(std::string_view symbol, std::string_view type, std::string_view method) {
    std::string end(kSeparator);
    for (const char letter : method) end += isPlain(letter) ? letter : '_';
    if (symbol.size() <= end.size() || !symbol.ends_with(end)) return;
    const auto [place, isNew] = types_.try_emplace(symbol.substr(0, symbol.size() - end.size()), type);
    // Whatever two types share says nothing of either.
    if (!isNew && place->second != type) place->second = {};
  }

  /// `Type.Method` of a symbol; empty where that is in doubt.
  std::string nameOf(std::string_view symbol) const {
    const size_t at = symbol.rfind(kSeparator);
    if (at == std::string_view::npos) return {};
    const std::string_view method = symbol.substr(at + kSeparator.size());
    const auto type = types_.find(symbol.substr(0, at));
    const bool isSure = type != types_.end() && !type->second.empty() && !method.empty() &&
                        std::all_of(method.begin(), method.end(), isPlain);
    return isSure ? std::string(type->second) + "." + std::string(method) : std::string();
  }

 private:
  std::unordered_map<std::string_view, std::string_view> types_;
};

}  // namespace

void nameAotMethods(const ElfImage& image, const ElfImage* debug, SymbolList& list) {
  if (list.names.source == NameSource::kUnpacked) return;
  const AotNames own = readAotNames(image);
  if (own.functions.empty()) return;
  const ElfImage& named = list.names.source == NameSource::kDebugFile ? *debug : image;
  const std::vector<uint8_t> strings = named.read(list.names.offset, list.names.size);
  image.budget().takeBytes(strings.size() + own.text.size() + list.entries.size() * 2 * sizeof(SymbolEntry));
  radixSort(list.entries, 32, [](const SymbolEntry& entry) { return entry.start; });

  const auto symbolOf = [&](const SymbolEntry& entry) { return textAt(strings, entry.name & SymbolEntry::kNameMask); };
  std::vector<SymbolEntry> entries, others;
  MangledTypes types;
  auto known = list.entries.begin();
  for (const AotFunction& method : own.functions) {
    for (; known != list.entries.end() && known->start < method.start; ++known) others.push_back(*known);
    uint32_t size = 0;
    const std::string_view name = textAt(own.text, method.name);
    for (auto same = known; same != list.entries.end() && same->start == method.start; ++same) {
      size = std::max(size, same->size());
      types.add(symbolOf(*same), name.substr(0, method.typeBytes), name.substr(method.typeBytes + 1));
    }
    entries.push_back({method.start, size, method.name});
  }
  const auto isMethod = [&](const SymbolEntry& entry) {
    const auto found = std::lower_bound(own.functions.begin(), own.functions.end(), entry.start,
                                        [](const AotFunction& it, uint32_t start) { return it.start < start; });
    return found != own.functions.end() && found->start == entry.start;
  };
  others.insert(others.end(), known, list.entries.end());
  std::vector<uint8_t> text = own.text;
  for (SymbolEntry entry : others) {
    if (isMethod(entry)) continue;
    const std::string_view symbol = symbolOf(entry);
    const std::string readable = types.nameOf(symbol);
    const std::string_view name = readable.empty() ? symbol : readable;
    entry.name = static_cast<uint32_t>(text.size()) | (entry.name & ~SymbolEntry::kNameMask);
    text.insert(text.end(), name.begin(), name.end());
    text.push_back(0);
    entries.push_back(entry);
  }
  if (text.size() > SymbolEntry::kNameMask) return;
  list.entries = std::move(entries);
  list.unpackedNames = std::move(text);
  list.names = {NameSource::kUnpacked, 0, 0, list.unpackedNames.size()};
}

}  // namespace polytop
