// SPDX-License-Identifier: Apache-2.0
#include "lines/plain_debug.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "arch/arch.h"

namespace polytop {
namespace {

/// DWARF 5 has some twenty.
constexpr size_t kMaxSections = 64;

bool isDebug(const Section& section) {
  return section.name.starts_with(".debug_") || section.name == ".gnu_debugaltlink";
}

/// Appends bytes, and says where they are.
uint64_t append(std::vector<uint8_t>& file, const void* bytes, size_t size) {
  const uint64_t at = file.size();
  const auto* from = static_cast<const uint8_t*>(bytes);
  file.insert(file.end(), from, from + size);
  return at;
}

}  // namespace

bool needsUnpacking(const ElfImage& image) {
  return std::any_of(image.sections().begin(), image.sections().end(), [&](const Section& section) {
    if (!isDebug(section) || section.form == SectionForm::kPlain) return false;
    return section.form == SectionForm::kGnu || image.packedHeader(section).method != PackedHeader::Method::kZlib;
  });
}

std::vector<uint8_t> plainDebugFile(const ElfImage& image, std::string& why) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = arch::kElfMachine;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);

  std::vector<uint8_t> file;
  append(file, &header, sizeof header);
  std::vector<Elf64_Shdr> sections(1);
  std::string names(1, '\0');
  const auto add = [&](const std::string& name, uint32_t type, const void* bytes, size_t size) {
    Elf64_Shdr section = {};
    section.sh_name = static_cast<uint32_t>(names.size());
    section.sh_type = type;
    section.sh_addralign = 1;
    section.sh_size = size;
    names += name + '\0';
    section.sh_offset = append(file, bytes, type == SHT_STRTAB ? 0 : size);
    sections.push_back(section);
  };
  for (const Section& section : image.sections()) {
    if (!isDebug(section) || sections.size() > kMaxSections) continue;
    const std::vector<uint8_t> content = image.content(section);
    if (content.empty() && section.form != SectionForm::kPlain && section.size > 0) {
      const bool isKnown = image.packedHeader(section).method != PackedHeader::Method::kUnknown;
      why = isKnown ? "its debug information is damaged"
                    : "its debug information is compressed in a way that polytop does not know";
      return {};
    }
    add(section.name, SHT_PROGBITS, content.data(), content.size());
  }
  add(".shstrtab", SHT_STRTAB, nullptr, 0);
  sections.back().sh_size = names.size();
  append(file, names.data(), names.size());
  file.resize((file.size() + alignof(Elf64_Shdr) - 1) & ~(alignof(Elf64_Shdr) - 1));
  header.e_shnum = static_cast<uint16_t>(sections.size());
  header.e_shstrndx = static_cast<uint16_t>(sections.size() - 1);
  header.e_shoff = append(file, sections.data(), sections.size() * sizeof(Elf64_Shdr));
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

}  // namespace polytop
