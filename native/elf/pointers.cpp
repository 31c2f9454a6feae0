// SPDX-License-Identifier: Apache-2.0
#include "elf/pointers.h"

#include <algorithm>
#include <cstring>

#include "arch/arch.h"

namespace polytop {
namespace {

constexpr uint64_t kMaxDynamicEntries = 16 << 10;
constexpr size_t kMaxCandidates = 16;

/// What the dynamic linker writes into words of the program when it loads it at address 0.
std::vector<Elf64_Rela> readRelocations(const ElfImage& file) {
  uint64_t address = 0, size = 0, offset = 0;
  for (const Segment& segment : file.segments()) {
    if (segment.type != PT_DYNAMIC) continue;
    const std::vector<uint8_t> raw = file.read(segment.offset, std::min(segment.fileSize, kMaxDynamicEntries));
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

}  // namespace

Pointers::Pointers(const ElfImage& file) : file_(file), relocations_(readRelocations(file)) {}

uint64_t Pointers::at(uint64_t address) const {
  for (const Elf64_Rela& it : relocations_) {
    if (it.r_offset == address) return static_cast<uint64_t>(it.r_addend);
  }
  uint64_t offset = 0;
  return file_.addressToOffset(address, offset) ? valueAt<uint64_t>(file_.read(offset, sizeof offset), 0) : 0;
}

std::vector<uint64_t> Pointers::to(uint64_t address) const {
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

}  // namespace polytop
