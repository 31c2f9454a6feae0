// SPDX-License-Identifier: Apache-2.0
#include "symbols/symbols.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "elf/debug_file.h"
#include "elf/lzma_section.h"
#include "go/go_functions.h"
#include "symbols/symbol_table.h"

namespace polytop {
namespace {

// A function within another one (hand-written assembler) is rare, and deeper nesting does not exist.
constexpr size_t kMaxNesting = 64;
constexpr size_t kMaxAliases = 32;
constexpr uint64_t kMaxPackedDebugData = 32u << 20;

/// `name@VERSION` and `name@@VERSION`, as linkers write versioned names into .symtab.
void cutVersion(std::string& name) {
  const size_t at = name.find('@', 1);
  if (at != std::string::npos) name.resize(at);
}

class TableIndex final : public SymbolIndex {
 public:
  TableIndex(int fd, const ElfImage& image, const std::string& root) {
    const CodeRanges code(image);
    names_ = readSymbols(image, fd, SHT_SYMTAB, code, entries_);
    // A program that kept its table has nothing more to learn from the files that were split off it.
    if (entries_.empty()) readDebugFile(fd, image, root, code);
    if (entries_.empty()) readDebugData(image, code);
    if (entries_.empty()) names_ = readGoFunctions(image, fd, code, entries_);
    dynamicNames_ = readSymbols(image, fd, SHT_DYNSYM, code, entries_);
    arrangeSymbols(entries_, code);
  }

  std::optional<Symbol> find(uint64_t offset, uint64_t functionStart) const override {
    std::optional<Symbol> found;
    eachHolding(offset, functionStart, [&](const SymbolEntry& entry) {
      const std::string name = bestName(entry.start, offset);
      if (!name.empty()) found = Symbol{demangle(name), entry.start};
      return found.has_value();
    });
    return found;
  }

  uint64_t startOf(uint64_t offset, uint64_t functionStart) const override {
    uint64_t start = 0;
    eachHolding(offset, functionStart, [&](const SymbolEntry& entry) {
      start = entry.start;
      return true;
    });
    return start;
  }

  size_t size() const override { return entries_.size(); }

  size_t memoryBytes() const override {
    return sizeof *this + entries_.capacity() * sizeof(SymbolEntry) + names_.memoryBytes() +
           dynamicNames_.memoryBytes();
  }

 private:
  /// Calls `visit` for the symbols that hold the offset, the innermost first, until it returns true.
  template <typename Visit>
  void eachHolding(uint64_t offset, uint64_t functionStart, Visit visit) const {
    const auto above = std::upper_bound(entries_.begin(), entries_.end(), offset,
                                        [](uint64_t value, const SymbolEntry& entry) { return value < entry.start; });
    size_t steps = 0;
    for (auto entry = above; entry != entries_.begin() && steps < kMaxNesting; steps++) {
      --entry;
      if (entry->start < functionStart) return;
      if (offset - entry->start < entry->size() && visit(*entry)) return;
    }
  }

  void readDebugFile(int fd, const ElfImage& image, const std::string& root, const CodeRanges& code) {
    DebugFile debug = findDebugFile(fd, image, root);
    if (!debug.image) return;
    names_ = readSymbols(*debug.image, debug.file.get(), SHT_SYMTAB, code, entries_);
    if (!entries_.empty()) debugFile_ = std::move(debug.file);
  }

  /// .gnu_debugdata: an ELF file of its own, packed with xz, that holds nothing but a symbol table.
  void readDebugData(const ElfImage& image, const CodeRanges& code) {
    const Section* section = image.section(".gnu_debugdata");
    if (section == nullptr || section->size > kMaxPackedDebugData) return;
    const std::vector<uint8_t> bytes = decodeXz(image.content(*section));
    std::string error;
    const std::unique_ptr<ElfImage> inner = ElfImage::openMemory(bytes.data(), bytes.size(), error);
    if (inner) names_ = readSymbols(*inner, -1, SHT_SYMTAB, code, entries_);
  }

  /**
   * The name that people know among those of one address: the one with the fewest underscores in front
   * (`write`, not `__write`), then a global before a weak one, then the shortest, then by the alphabet, so that the
   * answer is always the same.
   */
  std::string bestName(uint32_t start, uint64_t offset) const {
    auto entry = std::lower_bound(entries_.begin(), entries_.end(), start,
                                  [](const SymbolEntry& candidate, uint32_t value) { return candidate.start < value; });
    std::string best;
    std::tuple<size_t, Binding, size_t> bestRank;
    for (size_t i = 0; entry != entries_.end() && entry->start == start && i < kMaxAliases; ++entry, i++) {
      if (offset - start >= entry->size()) continue;
      std::string name = (entry->dynamic() ? dynamicNames_ : names_).at(entry->name & ~SymbolEntry::kDynamic);
      cutVersion(name);
      if (name.empty()) continue;
      const size_t underscores = std::min(name.find_first_not_of('_'), name.size());
      const std::tuple rank(underscores, entry->binding(), name.size());
      if (best.empty() || std::tie(rank, name) < std::tie(bestRank, best)) {
        best = std::move(name);
        bestRank = rank;
      }
    }
    return best;
  }

  FileDescriptor debugFile_;  // names_ reads from it
  std::vector<SymbolEntry> entries_;
  StringTable names_;
  StringTable dynamicNames_;
};

}  // namespace

std::unique_ptr<SymbolIndex> SymbolIndex::build(int fd, const ElfImage& image, const std::string& root) {
  return std::make_unique<TableIndex>(fd, image, root);
}

}  // namespace polytop
