// SPDX-License-Identifier: Apache-2.0
//
// Facts: System V gABI, chapter 4, "Symbol Table" and "String Table".
#include "symbols/symbol_table.h"

#include <algorithm>
#include <cstring>

#include "util/radix_sort.h"

namespace polytop {
namespace {

constexpr uint64_t kMaxSymbols = 4u << 20;
constexpr uint64_t kSymbolsAtOnce = 32768;
// Real programs have some ten; each symbol without a size is looked for in them.
constexpr size_t kMaxSegments = 32, kMaxSections = 32;

/// A place that an assembler was told the name of and nothing else. Compilers hide what they mark for themselves.
bool isLabel(const Elf64_Sym& symbol) {
  const auto visibility = ELF64_ST_VISIBILITY(symbol.st_other);
  return ELF64_ST_TYPE(symbol.st_info) == STT_NOTYPE && symbol.st_size == 0 && visibility != STV_HIDDEN &&
         visibility != STV_INTERNAL;
}

/// A symbol of a table of either form.
Elf64_Sym symbolAt(const uint8_t* bytes, bool isNarrow) {
  Elf64_Sym symbol = {};
  if (isNarrow) {
    Elf32_Sym narrow;
    std::memcpy(&narrow, bytes, sizeof narrow);
    return {narrow.st_name, narrow.st_info, narrow.st_other, narrow.st_shndx, narrow.st_value, narrow.st_size};
  }
  std::memcpy(&symbol, bytes, sizeof symbol);
  return symbol;
}

bool isFunction(const Elf64_Sym& symbol) {
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS || symbol.st_shndx == SHN_COMMON) return false;
  switch (ELF64_ST_TYPE(symbol.st_info)) {
    case STT_FUNC:
    case STT_GNU_IFUNC:
      return true;
    case STT_NOTYPE:
      return symbol.st_size > 0 || isLabel(symbol);
    default:
      return false;
  }
}

Binding bindingOf(const Elf64_Sym& symbol) {
  switch (ELF64_ST_BIND(symbol.st_info)) {
    case STB_LOCAL:
      return isLabel(symbol) ? Binding::kLabel : Binding::kLocal;
    case STB_WEAK:
      return Binding::kWeak;
    default:
      return Binding::kGlobal;  // STB_GNU_UNIQUE too
  }
}

}  // namespace

CodeRanges::CodeRanges(const ElfImage& image) {
  for (const Segment& segment : image.segments()) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0) continue;
    if (segments_.size() < kMaxSegments) segments_.push_back({segment.address, segment.offset, segment.fileSize});
  }
  for (const Section& section : image.sections()) {
    if ((section.flags & SHF_EXECINSTR) == 0 || section.type == SHT_NOBITS) continue;
    if (sections_.size() < kMaxSections) sections_.push_back({section.address, section.offset, section.size});
  }
}

bool CodeRanges::toOffset(uint64_t address, uint32_t& offset) const {
  for (const Range& segment : segments_) {
    if (address < segment.address || address - segment.address >= segment.size) continue;
    const uint64_t result = segment.offset + (address - segment.address);
    if (result > UINT32_MAX) return false;
    offset = static_cast<uint32_t>(result);
    return true;
  }
  return false;
}

bool CodeRanges::isInSection(uint32_t offset) const {
  if (sections_.empty()) return true;
  return std::any_of(sections_.begin(), sections_.end(), [=](const Range& section) {
    return offset >= section.offset && offset - section.offset < section.size;
  });
}

uint32_t CodeRanges::endOf(uint32_t offset) const {
  for (const std::vector<Range>* ranges : {&sections_, &segments_}) {
    for (const Range& range : *ranges) {
      if (offset < range.offset || offset - range.offset >= range.size) continue;
      const uint64_t room = UINT32_MAX - range.offset;  // range.offset <= offset, so it fits
      return static_cast<uint32_t>(range.offset + std::min(range.size, room));
    }
  }
  return offset;
}

NamePlace readSymbols(const ElfImage& file, uint32_t type, const CodeRanges& code, std::vector<SymbolEntry>& into) {
  const Section* table = nullptr;
  for (const Section& section : file.sections()) {
    if (section.type == type && table == nullptr) table = &section;
  }
  const uint64_t entrySize = file.isNarrow() ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym);
  if (table == nullptr || table->entrySize != entrySize || table->link >= file.sections().size()) return {};
  const Section& strings = file.sections()[table->link];
  if (strings.type != SHT_STRTAB || strings.offset >= file.fileSize()) return {};
  if (table->form != SectionForm::kPlain || strings.form != SectionForm::kPlain || table->offset >= file.fileSize())
    return {};
  const uint64_t namesSize =
      std::min({strings.size, file.fileSize() - strings.offset, uint64_t{SymbolEntry::kNameMask}});

  const uint64_t bytes = std::min(table->size, file.fileSize() - table->offset);
  const uint64_t count = std::min<uint64_t>(bytes / entrySize, kMaxSymbols);
  const uint32_t nameBits = type == SHT_DYNSYM ? SymbolEntry::kDynamic : 0;
  into.reserve(into.size() + count);
  for (uint64_t first = 0; first < count; first += kSymbolsAtOnce) {
    const uint64_t wanted = std::min(kSymbolsAtOnce, count - first) * entrySize;
    const std::vector<uint8_t> raw = file.read(table->offset + first * entrySize, wanted);
    for (size_t at = 0; at + entrySize <= raw.size(); at += entrySize) {
      const Elf64_Sym symbol = symbolAt(raw.data() + at, file.isNarrow());
      uint32_t start = 0;
      if (!isFunction(symbol) || symbol.st_name == 0 || symbol.st_name >= namesSize) continue;
      if (symbol.st_size > SymbolEntry::kMaxSize || !code.toOffset(symbol.st_value, start)) continue;
      // Data may lie in a segment of code too.
      if (isLabel(symbol) && !code.isInSection(start)) continue;
      const uint32_t binding = static_cast<uint32_t>(bindingOf(symbol)) << 30;
      into.push_back({start, binding | static_cast<uint32_t>(symbol.st_size), symbol.st_name | nameBits});
    }
    if (raw.size() < wanted) break;
  }
  return {.offset = strings.offset, .size = namesSize};
}

void arrangeSymbols(std::vector<SymbolEntry>& entries, const CodeRanges& code) {
  radixSort(entries, 32, [](const SymbolEntry& entry) { return entry.start; });
  size_t kept = 0;
  size_t visible = 0;      // the first entry behind this place that is no mere label
  uint64_t coveredTo = 0;  // how far the functions before this place reach that say their size
  for (size_t first = 0, last = 0; first < entries.size(); first = last) {
    const uint32_t start = entries[first].start;
    bool anyTable = false;
    bool anySized = false;
    bool anyVisible = false;
    for (last = first; last < entries.size() && entries[last].start == start; last++)
      anyTable |= !entries[last].dynamic();
    const auto counts = [&](const SymbolEntry& entry) { return !anyTable || !entry.dynamic(); };
    for (size_t i = first; i < last; i++) {
      if (counts(entries[i])) anySized |= entries[i].size() > 0;
    }
    if (!anySized && start < coveredTo) continue;
    for (size_t i = first; i < last; i++) {
      const bool candidate = counts(entries[i]) && (entries[i].size() > 0 || !anySized);
      anyVisible |= candidate && entries[i].binding() < Binding::kLocal;
    }
    visible = std::max(visible, last);
    while (visible < entries.size() && entries[visible].binding() == Binding::kLabel) visible++;
    const auto startAt = [&](size_t i) { return i < entries.size() ? entries[i].start : UINT32_MAX; };
    for (size_t i = first; i < last; i++) {
      SymbolEntry entry = entries[i];
      if (!counts(entry) || (anySized && entry.size() == 0)) continue;
      if (anyVisible && entry.binding() >= Binding::kLocal) continue;
      if (entry.size() == 0) {
        // A label may lie within what has another name.
        const uint32_t next = startAt(entry.binding() == Binding::kLabel ? last : visible);
        entry.fillSize(std::min(std::min(next, code.endOf(start)) - start, SymbolEntry::kMaxSize));
      } else {
        coveredTo = std::max(coveredTo, uint64_t{start} + entry.size());
      }
      entries[kept++] = entry;
    }
  }
  entries.resize(kept);
  entries.shrink_to_fit();
}

}  // namespace polytop
