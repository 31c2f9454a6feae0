// SPDX-License-Identifier: Apache-2.0
#include "elf/data_symbols.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "arch/arch.h"

namespace polytop {

namespace {

constexpr uint64_t kMaxSymbols = 1 << 20;
constexpr uint64_t kMaxRelocations = 1 << 20;
constexpr size_t kMaxName = 128;

}  // namespace

bool mayDefine(const ElfImage& image, std::string_view name) {
  const std::string wanted = std::string(1, '\0') + std::string(name) + std::string(1, '\0');
  for (const auto& [table, limit] : {std::pair{".dynstr", 16u << 20}, std::pair{".strtab", 4u << 20}}) {
    const Section* section = image.section(table);
    if (!section || section->size > limit) continue;
    const std::vector<uint8_t> bytes = image.read(section->offset, section->size);
    if (memmem(bytes.data(), bytes.size(), wanted.data(), wanted.size())) return true;
  }
  return false;
}

bool usesMusl(const ElfImage& image) {
  for (const char* name : {".dynstr", ".interp"}) {
    const Section* section = image.section(name);
    if (!section) continue;
    const std::vector<uint8_t> bytes = image.read(section->offset, std::min<uint64_t>(section->size, 16 << 20));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.find("libc.musl-") != text.npos || text.find("/ld-musl-") != text.npos) return true;
  }
  return false;
}

DataSymbols::DataSymbols(const ElfImage& image, std::vector<std::string_view> prefixes)
    : image_(image), prefixes_(std::move(prefixes)) {
  for (const Segment& segment : image.segments()) {
    if (segment.type != PT_LOAD || !(segment.flags & PF_X)) continue;
    codeBias_ = segment.address - segment.offset;
    break;
  }
  for (uint32_t type : {SHT_DYNSYM, SHT_SYMTAB}) {
    for (const Section& section : image.sections()) {
      if (section.type == type) readTable(section);
    }
  }
  for (const Section& section : image.sections()) {
    if (section.type == SHT_RELA) readRelocations(section);
  }
}

const DataSymbols::Symbol* DataSymbols::find(const std::string& name) const {
  const auto found = defined_.find(name);
  return found == defined_.end() ? nullptr : &found->second;
}

uint64_t DataSymbols::pointerAt(uint64_t address) const {
  const auto found = relative_.find(address);
  if (found != relative_.end()) return found->second;
  uint64_t offset = 0, value = 0;
  if (!image_.addressToOffset(address, offset)) return 0;
  const std::vector<uint8_t> bytes = image_.read(offset, sizeof value);
  if (bytes.size() == sizeof value) memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::vector<uint8_t> DataSymbols::bytesAt(const std::string& name, size_t size) const {
  const Symbol* symbol = find(name);
  uint64_t offset = 0;
  if (!symbol || !image_.addressToOffset(symbol->address, offset)) return {};
  return image_.read(offset, size);
}

code_range DataSymbols::codeOf(const std::string& name) const {
  const Symbol* symbol = find(name);
  uint64_t offset = 0;
  if (!symbol || symbol->size == 0 || !image_.addressToOffset(symbol->address, offset)) return {};
  return {static_cast<uint32_t>(offset), static_cast<uint32_t>(offset + symbol->size)};
}

file_place DataSymbols::placeOf(const std::string& name) const {
  const auto slot = slots_.find(name);
  if (slot != slots_.end()) return {static_cast<int64_t>(slot->second - codeBias_), 1, 1};
  if (const Symbol* symbol = find(name)) return {static_cast<int64_t>(symbol->address - codeBias_), 0, 1};
  return {};
}

bool DataSymbols::isWanted(std::string_view name) const {
  return std::any_of(prefixes_.begin(), prefixes_.end(),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

void DataSymbols::readTable(const Section& section) {
  if (section.link >= image_.sections().size()) return;
  const Section& strings = image_.sections()[section.link];
  const std::vector<uint8_t> raw =
      image_.read(section.offset, std::min<uint64_t>(section.size, kMaxSymbols * sizeof(Elf64_Sym)));
  const std::vector<uint8_t> names = image_.read(strings.offset, std::min<uint64_t>(strings.size, 64 << 20));
  const bool dynamic = section.type == SHT_DYNSYM;
  for (size_t at = 0; raw.size() - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    memcpy(&symbol, raw.data() + at, sizeof symbol);
    std::string name;
    if (symbol.st_name < names.size()) {
      const char* start = reinterpret_cast<const char*>(names.data()) + symbol.st_name;
      name.assign(start, strnlen(start, std::min<size_t>(names.size() - symbol.st_name, kMaxName)));
    }
    if (!isWanted(name)) name.clear();
    if (dynamic) dynamicNames_.push_back(name);
    if (!name.empty() && symbol.st_shndx != SHN_UNDEF)
      defined_.try_emplace(name, Symbol{symbol.st_value, symbol.st_size});
  }
}

void DataSymbols::readRelocations(const Section& section) {
  const std::vector<uint8_t> raw =
      image_.read(section.offset, std::min<uint64_t>(section.size, kMaxRelocations * sizeof(Elf64_Rela)));
  for (size_t at = 0; raw.size() - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
    Elf64_Rela relocation;
    memcpy(&relocation, raw.data() + at, sizeof relocation);
    const uint32_t type = ELF64_R_TYPE(relocation.r_info);
    if (type == arch::kRelativeRelocation) relative_[relocation.r_offset] = static_cast<uint64_t>(relocation.r_addend);
    const uint32_t index = ELF64_R_SYM(relocation.r_info);
    if (type != arch::kDataRelocation || index >= dynamicNames_.size()) continue;
    if (!dynamicNames_[index].empty()) slots_.try_emplace(dynamicNames_[index], relocation.r_offset);
  }
}

}  // namespace polytop
