// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstdint>
#include <vector>

#include "elf/elf_image.h"
#include "util/bytes.h"

namespace polytop {

/// A larger segment is not looked through.
constexpr uint64_t kMaxSegment = 256u << 20;

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

/// The pointers in the data of a program, as they are once it is loaded at address 0.
class Pointers {
 public:
  explicit Pointers(const ElfImage& file);

  /// The pointer at an address; 0 where there is none.
  uint64_t at(uint64_t address) const;
  /// Where there are pointers to an address: the first of them.
  std::vector<uint64_t> to(uint64_t address) const;

 private:
  const ElfImage& file_;
  std::vector<Elf64_Rela> relocations_;
};

}  // namespace polytop
