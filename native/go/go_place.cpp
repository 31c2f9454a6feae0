// SPDX-License-Identifier: Apache-2.0
#include "go/go_place.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "arch/arch.h"
#include "util/bytes.h"

namespace polytop {
namespace {

constexpr uint64_t kMaxSegment = 256u << 20;
constexpr uint64_t kMaxNotes = 64 << 10;
constexpr uint64_t kMaxDynamic = 16 << 10;
constexpr size_t kMaxCandidates = 16;
/// The first eight bytes of a table, but for the lowest: no zeros, instructions of one byte, pointers of eight.
constexpr uint64_t kMagic = 0x08010000'ffffff00;
/// What its lowest byte may be: Go 1.18, 1.20.
constexpr uint64_t kForms[] = {0xf0, 0xf1};
/// In the header of the table: the address of the code.
constexpr uint64_t kTextStart = 24;
/// In the description of a program (runtime/symtab.go: moduledata), whose first word points to the table: the addresses
/// of the first function and of the code.
constexpr uint64_t kMinPc = 160, kText = 176;

/// Whether Go made a part of the file: its tools leave a section or a note.
bool isOfGo(const ElfImage& file) {
  if (file.section(".go.buildinfo") || file.section(".note.go.buildid")) return true;
  return std::any_of(file.segments().begin(), file.segments().end(), [&](const Segment& segment) {
    // The kind, a build id, and the owner.
    constexpr std::string_view kOwner("\4\0\0\0Go\0\0", 8);
    return segment.type == PT_NOTE &&
           findText(file.read(segment.offset, std::min(segment.fileSize, kMaxNotes)), kOwner);
  });
}

/// Calls `found` with the address of each aligned word of a segment for which `wanted` holds.
template <typename Wanted, typename Found>
void eachWord(const ElfImage& file, const Segment& segment, Wanted wanted, Found found) {
  if (segment.type != PT_LOAD || (segment.flags & PF_X) != 0 || segment.fileSize > kMaxSegment) return;
  const uint64_t skipped = -segment.address % sizeof(uint64_t);
  const std::vector<uint8_t> bytes = file.read(segment.offset, segment.fileSize);
  file.budget().takeSteps(bytes.size() / sizeof(uint64_t));
  for (uint64_t at = skipped; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
    if (wanted(valueAt<uint64_t>(bytes, at))) found(segment.address + at);
  }
}

/// What the dynamic linker writes into words of the program when it loads it at address 0.
std::vector<Elf64_Rela> readRelocations(const ElfImage& file) {
  uint64_t address = 0, size = 0, offset = 0;
  for (const Segment& segment : file.segments()) {
    if (segment.type != PT_DYNAMIC) continue;
    const std::vector<uint8_t> raw = file.read(segment.offset, std::min(segment.fileSize, kMaxDynamic));
    for (size_t at = 0; at + sizeof(Elf64_Dyn) <= raw.size(); at += sizeof(Elf64_Dyn)) {
      const auto entry = valueAt<Elf64_Dyn>(raw, at);
      if (entry.d_tag == DT_RELA) address = entry.d_un.d_ptr;
      if (entry.d_tag == DT_RELASZ) size = entry.d_un.d_val;
    }
  }
  if (size == 0 || !file.addressToOffset(address, offset)) return {};
  const std::vector<uint8_t> raw = file.read(offset, std::min(size, kMaxSegment));
  file.budget().takeBytes(raw.size());
  std::vector<Elf64_Rela> relocations(raw.size() / sizeof(Elf64_Rela));
  if (!relocations.empty()) std::memcpy(relocations.data(), raw.data(), relocations.size() * sizeof(Elf64_Rela));
  std::erase_if(relocations, [](const Elf64_Rela& it) { return ELF64_R_TYPE(it.r_info) != arch::kRelativeRelocation; });
  return relocations;
}

/// The pointers in the data of a program, as they are once it is loaded at address 0.
class Pointers {
 public:
  explicit Pointers(const ElfImage& file) : file_(file), relocations_(readRelocations(file)) {}

  /// The pointer at an address; 0 where there is none.
  uint64_t at(uint64_t address) const {
    for (const Elf64_Rela& it : relocations_) {
      if (it.r_offset == address) return static_cast<uint64_t>(it.r_addend);
    }
    uint64_t offset = 0;
    return file_.addressToOffset(address, offset) ? valueAt<uint64_t>(file_.read(offset, sizeof offset), 0) : 0;
  }

  /// Where there are pointers to an address.
  std::vector<uint64_t> to(uint64_t address) const {
    std::vector<uint64_t> places;
    for (const Elf64_Rela& it : relocations_) {
      if (static_cast<uint64_t>(it.r_addend) == address) places.push_back(it.r_offset);
    }
    for (const Segment& segment : file_.segments()) {
      if (!places.empty() || (segment.flags & PF_W) == 0) continue;
      eachWord(
          file_, segment, [&](uint64_t word) { return word == address; },
          [&](uint64_t place) { places.push_back(place); });
    }
    if (places.size() > kMaxCandidates) places.resize(kMaxCandidates);
    return places;
  }

 private:
  const ElfImage& file_;
  std::vector<Elf64_Rela> relocations_;
};

bool isFirstWord(uint64_t word) {
  return std::any_of(std::begin(kForms), std::end(kForms), [&](uint64_t form) { return word == (kMagic | form); });
}

}  // namespace

GoPlace findGoTable(const ElfImage& file) {
  for (const char* name : {".gopclntab", ".data.rel.ro.gopclntab"}) {
    const Section* section = file.section(name);
    if (section != nullptr && section->type != SHT_NOBITS) return {section->offset, section->size, section->address};
  }
  if (!isOfGo(file)) return {};
  std::vector<GoPlace> places;
  for (const Segment& segment : file.segments()) {
    eachWord(file, segment, isFirstWord, [&](uint64_t address) {
      const uint64_t inside = address - segment.address;
      if (places.size() < kMaxCandidates)
        places.push_back({segment.offset + inside, segment.fileSize - inside, address});
    });
  }
  if (places.empty()) return {};
  const Pointers pointers(file);
  const auto found = std::find_if(places.begin(), places.end(),
                                  [&](const GoPlace& place) { return !pointers.to(place.address).empty(); });
  return found == places.end() ? GoPlace{} : *found;
}

uint64_t findGoCode(const ElfImage& file, const GoPlace& place, uint32_t first) {
  const Pointers pointers(file);
  const uint64_t told = pointers.at(place.address + kTextStart);
  if (told != 0) return told;
  for (const uint64_t description : pointers.to(place.address)) {
    const uint64_t text = pointers.at(description + kText);
    if (text != 0 && pointers.at(description + kMinPc) == text + first) return text;
  }
  return 0;
}

}  // namespace polytop
