// SPDX-License-Identifier: Apache-2.0
#include "go/go_place.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "elf/pointers.h"
#include "util/bytes.h"

namespace polytop {
namespace {

constexpr uint64_t kMaxNotes = 64 << 10;
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
