// SPDX-License-Identifier: Apache-2.0
#include "symbols/plt_stubs.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "arch/arch.h"
#include "arch/plt.h"

namespace polytop {
namespace {

constexpr uint64_t kMaxStubs = 1 << 18;
constexpr uint64_t kMaxTable = 64 << 20;
constexpr std::string_view kTables[] = {".plt", ".plt.sec", ".plt.got", ".plt.bnd"};

template <typename Item>
std::vector<Item> readItems(const ElfImage& image, const Section& section) {
  if (section.entrySize != sizeof(Item) || section.size > kMaxTable) return {};
  const std::vector<uint8_t> bytes = image.read(section.offset, section.size);
  std::vector<Item> items(bytes.size() / sizeof(Item));
  if (!items.empty()) std::memcpy(items.data(), bytes.data(), items.size() * sizeof(Item));
  return items;
}

/// Which names of .dynsym the words and relocations of a program's functions in other files have.
class ImportedFunctions {
 public:
  explicit ImportedFunctions(const ElfImage& image) {
    for (const Section& section : image.sections()) {
      if (section.type == SHT_DYNSYM && symbols_.empty()) symbols_ = readItems<Elf64_Sym>(image, section);
    }
    for (const Section& section : image.sections()) {
      if (section.type == SHT_RELA && (section.flags & SHF_ALLOC) != 0 && !symbols_.empty()) add(image, section);
    }
  }

  /// An offset in .dynstr; 0 where nothing is known.
  uint32_t nameOf(const arch::PltTarget& target) const {
    if (target.slot == 0) return target.relocation < byIndex_.size() ? byIndex_[target.relocation] : 0;
    const auto found = bySlot_.find(target.slot);
    return found == bySlot_.end() ? 0 : found->second;
  }

 private:
  void add(const ElfImage& image, const Section& section) {
    const bool isOfTable = section.name == ".rela.plt";
    for (const Elf64_Rela& relocation : readItems<Elf64_Rela>(image, section)) {
      const uint64_t type = ELF64_R_TYPE(relocation.r_info), symbol = ELF64_R_SYM(relocation.r_info);
      const bool isFunction = type == arch::kStubRelocation || type == arch::kDataRelocation;
      const uint32_t name = isFunction && symbol < symbols_.size() ? symbols_[symbol].st_name : 0;
      if (isOfTable && byIndex_.size() < kMaxStubs) byIndex_.push_back(name);
      if (name != 0 && bySlot_.size() < kMaxStubs) bySlot_.emplace(relocation.r_offset, name);
    }
  }

  std::vector<Elf64_Sym> symbols_;
  std::vector<uint32_t> byIndex_;
  std::unordered_map<uint64_t, uint32_t> bySlot_;
};

}  // namespace

void addPltStubs(const ElfImage& image, const CodeRanges& code, uint64_t namesSize, std::vector<SymbolEntry>& into) {
  std::optional<ImportedFunctions> functions;
  for (const std::string_view name : kTables) {
    const Section* table = image.section(name);
    if (table == nullptr || image.isNarrow() || table->size > kMaxStubs * arch::kPltEntry) continue;
    if (!functions) functions.emplace(image);
    const std::vector<uint8_t> bytes = image.content(*table);
    const size_t length = table->entrySize == arch::kPltEntry / 2 ? arch::kPltEntry / 2 : arch::kPltEntry;
    for (size_t at = 0; at + length <= bytes.size(); at += length) {
      const auto stub = arch::readPltStub(std::span(bytes).subspan(at, length), table->address + at);
      const uint32_t called = stub ? functions->nameOf(*stub) : 0;
      uint32_t start = 0;
      if (called == 0 || called >= namesSize || !code.toOffset(table->address + at, start)) continue;
      into.push_back({start, static_cast<uint32_t>(length), called | SymbolEntry::kDynamic | SymbolEntry::kStub});
    }
  }
}

}  // namespace polytop
