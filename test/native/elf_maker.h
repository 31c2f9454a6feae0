// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

/// Bytes of a little-endian file, written piece by piece.
struct ByteWriter {
  std::vector<uint8_t> bytes;

  ByteWriter& u8(uint64_t value) { return put(value, 1); }
  ByteWriter& u16(uint64_t value) { return put(value, 2); }
  ByteWriter& u32(uint64_t value) { return put(value, 4); }
  ByteWriter& u64(uint64_t value) { return put(value, 8); }
  ByteWriter& add(const std::vector<uint8_t>& more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return *this;
  }
  ByteWriter& text(const std::string& value) {
    bytes.insert(bytes.end(), value.begin(), value.end());
    return u8(0);
  }

 private:
  ByteWriter& put(uint64_t value, int size) {
    for (int i = 0; i < size; i++) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
    return *this;
  }
};

/// The code of a made file: file offset and virtual address differ, as with lld.
constexpr uint64_t kCodeOffset = 0x1000;
constexpr uint64_t kCodeAddress = 0x401000;
constexpr uint64_t kCodeSize = 0x3000;
/// Where the frame section of a made file is.
constexpr uint64_t kFrameOffset = 0x4000;
constexpr uint64_t kFrameAddress = 0x505000;

struct ElfParts {
  std::string name = ".eh_frame";  ///< of the frame section; empty: no section headers at all
  std::vector<uint8_t> frame;
  uint64_t frameFlags = 0;
  std::vector<uint8_t> header;  ///< of PT_GNU_EH_FRAME (behind the frame section), empty: none
  uint64_t entry = 0;
  uint64_t codeSize = kCodeSize;  ///< p_filesz of the code, which may be a lie
};

/// An ELF file with one code segment, one data segment with the frame section, and the headers that `parts` names.
inline std::vector<uint8_t> makeElf(const ElfParts& parts) {
  const uint64_t headerOffset = kFrameOffset + parts.frame.size();
  const uint64_t namesOffset = headerOffset + parts.header.size();
  ByteWriter names;
  names.text("").text(parts.name).text(".shstrtab");
  const uint64_t sectionsOffset = namesOffset + names.bytes.size();

  std::vector<uint8_t> file(sectionsOffset);
  const auto put = [&file](uint64_t at, const void* data, size_t size) {
    if (size > 0) std::memcpy(file.data() + at, data, size);
  };
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_ident[EI_VERSION] = EV_CURRENT;
  head.e_type = ET_DYN;
  head.e_machine = EM_X86_64;
  head.e_version = EV_CURRENT;
  head.e_entry = parts.entry;
  head.e_phoff = sizeof head;
  head.e_ehsize = sizeof head;
  head.e_phentsize = sizeof(Elf64_Phdr);
  head.e_phnum = parts.header.empty() ? 2 : 3;
  if (!parts.name.empty()) {
    head.e_shoff = sectionsOffset;
    head.e_shentsize = sizeof(Elf64_Shdr);
    head.e_shnum = 3;
    head.e_shstrndx = 2;
  }
  put(0, &head, sizeof head);

  Elf64_Phdr segments[3] = {};
  segments[0] = {PT_LOAD, PF_R | PF_X, kCodeOffset, kCodeAddress, kCodeAddress, parts.codeSize, parts.codeSize, 4096};
  const uint64_t dataSize = parts.frame.size() + parts.header.size();
  segments[1] = {PT_LOAD, PF_R, kFrameOffset, kFrameAddress, kFrameAddress, dataSize, dataSize, 4096};
  const uint64_t headerAddress = kFrameAddress + parts.frame.size();
  segments[2] = {PT_GNU_EH_FRAME,     PF_R, headerOffset, headerAddress, headerAddress, parts.header.size(),
                 parts.header.size(), 4};
  put(sizeof head, segments, head.e_phnum * sizeof(Elf64_Phdr));
  put(kFrameOffset, parts.frame.data(), parts.frame.size());
  put(headerOffset, parts.header.data(), parts.header.size());
  put(namesOffset, names.bytes.data(), names.bytes.size());
  if (!parts.name.empty()) {
    Elf64_Shdr sections[3] = {};
    sections[1] = {
        1, SHT_PROGBITS, SHF_ALLOC | parts.frameFlags, kFrameAddress, kFrameOffset, parts.frame.size(), 0, 0, 8, 0};
    sections[2] = {
        static_cast<Elf64_Word>(2 + parts.name.size()), SHT_STRTAB, 0, 0, namesOffset, names.bytes.size(), 0, 0, 1, 0};
    const auto* raw = reinterpret_cast<const uint8_t*>(sections);
    file.insert(file.end(), raw, raw + sizeof sections);
  }
  return file;
}

using Program = std::vector<uint8_t>;

/// The CIE that GCC writes: "zR", pcrel sdata4, CFA = rsp + 8, return address at CFA - 8.
inline const Program kUsualStart = {0x0c, 7, 8, 0x90, 1};

inline std::vector<uint8_t> makeCie(const std::string& augmentation, const Program& program, uint8_t encoding = 0x1b) {
  ByteWriter content;
  content.u32(0).u8(1).text(augmentation).u8(1).u8(0x78).u8(16);  // code 1, data -8, return address column 16
  if (!augmentation.empty() && augmentation[0] == 'z') content.u8(1).u8(encoding);
  content.add(program);
  return ByteWriter().u32(content.bytes.size()).add(content.bytes).bytes;
}

/// An FDE of .eh_frame with pcrel sdata4 pointers that will stand at `at` of the section, whose CIE is at `cie`.
inline std::vector<uint8_t> makeFde(uint64_t at, uint64_t cie, uint64_t address, uint32_t size,
                                    const Program& program) {
  ByteWriter content;
  content.u32(at + 4 - cie).u32(address - (kFrameAddress + at + 8)).u32(size).u8(0).add(program);
  return ByteWriter().u32(content.bytes.size()).add(content.bytes).bytes;
}

/// One CIE and one FDE over the first 64 bytes of the code.
inline ElfParts oneFunction(const Program& program, const char* augmentation = "zR",
                            const Program& initial = kUsualStart) {
  ElfParts parts;
  parts.frame = makeCie(augmentation, initial);
  const std::vector<uint8_t> fde = makeFde(parts.frame.size(), 0, kCodeAddress, 64, program);
  parts.frame.insert(parts.frame.end(), fde.begin(), fde.end());
  return parts;
}
