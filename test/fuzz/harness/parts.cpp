// SPDX-License-Identifier: Apache-2.0
#include "parts.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include "arch/arch.h"

namespace polytop::fuzz {

const Part kParts[] = {
    {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, PT_LOAD},
    {".eh_frame", SHT_PROGBITS, SHF_ALLOC, PT_LOAD},
    {".eh_frame_hdr", SHT_PROGBITS, SHF_ALLOC, PT_GNU_EH_FRAME},
    {".debug_frame", SHT_PROGBITS, 0, PT_NULL},
    {".gopclntab", SHT_PROGBITS, SHF_ALLOC, PT_LOAD},
    {".symtab", SHT_SYMTAB, 0, PT_NULL},
    {".strtab", SHT_STRTAB, 0, PT_NULL},
    {".dynsym", SHT_DYNSYM, SHF_ALLOC, PT_LOAD},
    {".dynstr", SHT_STRTAB, SHF_ALLOC, PT_LOAD},
    {".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, PT_NOTE},
    {".gnu_debuglink", SHT_PROGBITS, 0, PT_NULL},
    {".gnu_debugdata", SHT_PROGBITS, 0, PT_NULL},
    {".gnu_debugaltlink", SHT_PROGBITS, 0, PT_NULL},
    {".debug_info", SHT_PROGBITS, 0, PT_NULL},
    {".debug_abbrev", SHT_PROGBITS, 0, PT_NULL},
    {".debug_line", SHT_PROGBITS, 0, PT_NULL},
    {".debug_str", SHT_PROGBITS, 0, PT_NULL},
    {".debug_line_str", SHT_PROGBITS, 0, PT_NULL},
    {".debug_aranges", SHT_PROGBITS, 0, PT_NULL},
    {".debug_ranges", SHT_PROGBITS, 0, PT_NULL},
    {".debug_rnglists", SHT_PROGBITS, 0, PT_NULL},
    {".debug_addr", SHT_PROGBITS, 0, PT_NULL},
    {".debug_str_offsets", SHT_PROGBITS, 0, PT_NULL},
};
const size_t kPartCount = std::size(kParts);

namespace {

constexpr uint64_t kFirstAddress = 0x400000, kAddressStep = 0x100000;
/// Code is zeros: only its size matters.
constexpr uint64_t kMostCode = 16 << 10;
constexpr size_t kMostParts = 24;

template <typename Value>
Value take(Input& input) {
  Value value = {};
  const size_t size = std::min(sizeof value, input.size());
  std::copy_n(input.begin(), size, reinterpret_cast<uint8_t*>(&value));
  input = input.subspan(size);
  return value;
}

template <typename Value>
void append(std::vector<uint8_t>& file, const Value* values, size_t count) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(values);
  file.insert(file.end(), bytes, bytes + count * sizeof(Value));
}

/// The index of the section of a name; 0 if there is none.
uint32_t indexOf(const std::vector<Elf64_Shdr>& sections, const std::string& names, const char* wanted) {
  for (size_t i = 1; i < sections.size(); i++) {
    if (strcmp(names.c_str() + sections[i].sh_name, wanted) == 0) return static_cast<uint32_t>(i);
  }
  return 0;
}

}  // namespace

std::vector<uint8_t> makeElf(Input input) {
  const auto options = take<uint8_t>(input);
  std::vector<Elf64_Phdr> segments;
  std::vector<Elf64_Shdr> sections(1);
  std::string names(1, '\0');
  std::vector<uint8_t> file(sizeof(Elf64_Ehdr) + kMostParts * sizeof(Elf64_Phdr));
  uint64_t entry = 0;
  while (!input.empty() && sections.size() < kMostParts) {
    const auto kind = take<uint8_t>(input);
    const auto asked = take<uint32_t>(input);
    const size_t claimed = take<uint16_t>(input);
    const size_t size = std::min(claimed, input.size());
    const Input bytes = input.subspan(0, size);
    input = input.subspan(size);
    const size_t number = (kind & ~kPacked) % kPartCount;
    const Part& part = kParts[number];
    const bool isCode = (part.flags & SHF_EXECINSTR) != 0;
    const uint64_t address = asked ? asked : kFirstAddress + number * kAddressStep;
    const uint64_t offset = file.size();
    if (isCode) {
      Input numbers = bytes;
      const uint64_t codeSize = std::min<uint64_t>(take<uint32_t>(numbers), kMostCode);
      entry = take<uint32_t>(numbers);
      file.resize(offset + codeSize);
    } else {
      append(file, bytes.data(), bytes.size());
    }
    const uint64_t length = file.size() - offset;
    if (part.segment != PT_NULL)
      segments.push_back({part.segment, static_cast<Elf64_Word>(PF_R | (isCode ? PF_X : 0)), offset, address, address,
                          length, length, 16});
    const uint64_t flags = part.flags | ((kind & kPacked) != 0 ? SHF_COMPRESSED : 0);
    const uint64_t entrySize = part.type == SHT_SYMTAB || part.type == SHT_DYNSYM ? sizeof(Elf64_Sym) : 0;
    sections.push_back({static_cast<Elf64_Word>(names.size()), part.type, flags,
                        part.flags & SHF_ALLOC || isCode ? address : 0, offset, length, 0, 0, 1, entrySize});
    names += part.name;
    names += '\0';
  }
  for (Elf64_Shdr& section : sections) {
    if (section.sh_type == SHT_SYMTAB) section.sh_link = indexOf(sections, names, ".strtab");
    if (section.sh_type == SHT_DYNSYM) section.sh_link = indexOf(sections, names, ".dynstr");
  }
  const auto namesAt = static_cast<Elf64_Word>(names.size());
  names += ".shstrtab";
  names += '\0';
  sections.push_back({namesAt, SHT_STRTAB, 0, 0, file.size(), names.size(), 0, 0, 1, 0});
  append(file, names.data(), names.size());

  Elf64_Ehdr head = {};
  memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_ident[EI_VERSION] = EV_CURRENT;
  head.e_type = ET_DYN;
  head.e_machine = arch::kElfMachine;
  head.e_version = EV_CURRENT;
  head.e_entry = entry;
  head.e_phoff = sizeof head;
  head.e_phentsize = sizeof(Elf64_Phdr);
  head.e_phnum = static_cast<uint16_t>(segments.size());
  head.e_ehsize = sizeof head;
  if ((options & kNoSections) == 0) {
    head.e_shoff = file.size();
    head.e_shentsize = sizeof(Elf64_Shdr);
    head.e_shnum = static_cast<uint16_t>(sections.size());
    head.e_shstrndx = static_cast<uint16_t>(sections.size() - 1);
    append(file, sections.data(), sections.size());
  }
  memcpy(file.data(), &head, sizeof head);
  std::copy_n(reinterpret_cast<const uint8_t*>(segments.data()), segments.size() * sizeof(Elf64_Phdr),
              file.begin() + sizeof head);
  return file;
}

}  // namespace polytop::fuzz
