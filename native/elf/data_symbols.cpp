// SPDX-License-Identifier: Apache-2.0
#include "elf/data_symbols.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "arch/arch.h"
#include "arch/thread_access.h"
#include "util/bytes.h"

namespace polytop {

namespace {

constexpr uint64_t kMaxSymbols = 1 << 20;
constexpr uint64_t kMaxRelocations = 1 << 20;
constexpr uint64_t kMaxNames = 32 << 20;
/// A name may be there several times.
constexpr size_t kMaxReferred = 1024;
constexpr size_t kLongestWanted = 96;

}  // namespace

bool mayDefine(const ElfImage& image, std::string_view name) {
  const std::string wanted = std::string(1, '\0') + std::string(name) + std::string(1, '\0');
  for (const auto& [table, limit] : {std::pair{".dynstr", 16u << 20}, std::pair{".strtab", 4u << 20}}) {
    const Section* section = image.section(table);
    if (!section || section->size > limit) continue;
    if (findText(image.kept(section->offset, section->size), wanted)) return true;
  }
  return false;
}

bool usesMusl(const ElfImage& image) {
  for (const char* name : {".dynstr", ".interp"}) {
    const Section* section = image.section(name);
    if (!section) continue;
    const std::vector<uint8_t> bytes = image.read(section->offset, std::min(section->size, kMaxNames));
    if (findText(bytes, "libc.musl-") || findText(bytes, "/ld-musl-")) return true;
  }
  return false;
}

DataSymbols::DataSymbols(const ElfImage& image, std::span<const std::string_view> wanted)
    : image_(image), wanted_(wanted) {
  for (const Segment& segment : image.segments()) {
    if (segment.type != PT_LOAD || !(segment.flags & PF_X)) continue;
    codeBias_ = segment.address - segment.offset;
    break;
  }
  // One table of a kind: a file with more of them is a lie, and each could cover all of it.
  if (const Section* section = firstOf(SHT_DYNSYM)) readTable(*section);
  if (const Section* section = firstOf(SHT_SYMTAB)) readTable(*section);
  if (const Section* section = image.section(".rela.dyn")) readRelocations(*section);
}

const DataSymbols::Symbol* DataSymbols::find(std::string_view name) const {
  const auto found = defined_.find(name);
  return found == defined_.end() ? nullptr : &found->second;
}

uint64_t DataSymbols::pointerAt(uint64_t address) const {
  const auto found = std::lower_bound(relative_.begin(), relative_.end(), std::pair(address, uint64_t{0}));
  if (found != relative_.end() && found->first == address) return found->second;
  uint64_t offset = 0;
  return image_.addressToOffset(address, offset) ? valueAt<uint64_t>(image_.read(offset, sizeof address), 0) : 0;
}

std::vector<uint8_t> DataSymbols::bytesAt(std::string_view name, size_t size) const {
  const Symbol* symbol = find(name);
  uint64_t offset = 0;
  if (!symbol || !image_.addressToOffset(symbol->address, offset)) return {};
  return image_.read(offset, size);
}

code_range DataSymbols::codeOf(std::string_view name) const {
  const Symbol* symbol = find(name);
  uint64_t offset = 0;
  if (!symbol || symbol->size == 0 || !image_.addressToOffset(symbol->address, offset)) return {};
  return {static_cast<uint32_t>(offset), static_cast<uint32_t>(offset + symbol->size)};
}

file_place DataSymbols::placeOf(std::string_view name) const {
  const auto slot = slots_.find(name);
  if (slot != slots_.end()) return {static_cast<int64_t>(slot->second - codeBias_), 1, 1};
  if (const Symbol* symbol = find(name)) return {static_cast<int64_t>(symbol->address - codeBias_), 0, 1};
  return {};
}

thread_variable DataSymbols::variableReturnedBy(std::string_view name) const {
  const Symbol* symbol = find(name);
  if (!symbol) return {};
  const std::vector<uint8_t> code = bytesAt(name, std::min<uint64_t>(symbol->size, arch::kLongestThreadAccess));
  const std::optional<arch::ThreadAccess> access = arch::findThreadAccess(code, symbol->address);
  if (!access) return {};
  return {static_cast<int64_t>(access->word - codeBias_), access->offset, access->model};
}

const Section* DataSymbols::firstOf(uint32_t type) const {
  const std::vector<Section>& all = image_.sections();
  const auto found = std::find_if(all.begin(), all.end(), [=](const Section& it) { return it.type == type; });
  return found == all.end() ? nullptr : &*found;
}

std::string_view DataSymbols::wanted(const std::vector<uint8_t>& names, uint32_t at) const {
  if (at >= names.size()) return {};
  const char* start = reinterpret_cast<const char*>(names.data()) + at;
  const std::string_view name(start, strnlen(start, std::min<size_t>(names.size() - at, kLongestWanted)));
  const auto found = std::find(wanted_.begin(), wanted_.end(), name);
  return found == wanted_.end() ? std::string_view() : *found;
}

void DataSymbols::readTable(const Section& section) {
  if (section.link >= image_.sections().size()) return;
  const Section& strings = image_.sections()[section.link];
  const std::vector<uint8_t> raw =
      image_.read(section.offset, std::min<uint64_t>(section.size, kMaxSymbols * sizeof(Elf64_Sym)));
  const std::vector<uint8_t> names = image_.read(strings.offset, std::min(strings.size, kMaxNames));
  const bool dynamic = section.type == SHT_DYNSYM;
  for (size_t at = 0; raw.size() - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
    const auto symbol = valueAt<Elf64_Sym>(raw, at);
    const std::string_view name = wanted(names, symbol.st_name);
    if (name.empty()) continue;
    if (dynamic && dynamicNames_.size() < kMaxReferred)
      dynamicNames_.emplace(static_cast<uint32_t>(at / sizeof(Elf64_Sym)), name);
    if (symbol.st_shndx != SHN_UNDEF) defined_.try_emplace(name, Symbol{symbol.st_value, symbol.st_size});
  }
}

void DataSymbols::readRelocations(const Section& section) {
  const std::vector<uint8_t> raw =
      image_.read(section.offset, std::min<uint64_t>(section.size, kMaxRelocations * sizeof(Elf64_Rela)));
  image_.budget().takeBytes(raw.size());
  for (size_t at = 0; raw.size() - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
    const auto relocation = valueAt<Elf64_Rela>(raw, at);
    const uint32_t type = ELF64_R_TYPE(relocation.r_info);
    if (type == arch::kRelativeRelocation)
      relative_.emplace_back(relocation.r_offset, static_cast<uint64_t>(relocation.r_addend));
    if (type != arch::kDataRelocation) continue;
    const auto name = dynamicNames_.find(ELF64_R_SYM(relocation.r_info));
    if (name != dynamicNames_.end()) slots_.try_emplace(name->second, relocation.r_offset);
  }
  std::sort(relative_.begin(), relative_.end());
}

}  // namespace polytop
