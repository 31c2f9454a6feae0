// SPDX-License-Identifier: Apache-2.0
#include "lines/debug_lines.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>

#include <string_view>

#include "lines/plain_debug.h"

namespace polytop {
namespace {

constexpr uint64_t kMaxDebugBytes = 256u << 20;

/// What reading a section takes, at its full size where it is compressed.
uint64_t fullSize(const ElfImage& image, const Section& section) {
  return section.form == SectionForm::kPlain ? section.size : image.packedHeader(section).size;
}

/// What reading the debug information would take; more than `kMaxDebugBytes` counts as one more.
uint64_t debugBytes(const ElfImage& image) {
  uint64_t sum = 0;
  for (const Section& section : image.sections()) {
    if (!section.name.starts_with(".debug_")) continue;
    const uint64_t size = fullSize(image, section);
    if (size > kMaxDebugBytes - sum) return kMaxDebugBytes + 1;
    sum += size;
  }
  return sum;
}

bool hasLines(const ElfImage& image) { return image.section(".debug_line") != nullptr; }

/// libdw 0.188 takes the strings of a line table to their terminator, wherever that is: there has to be one.
bool stringsEnd(const ElfImage& image) {
  for (const std::string_view name : {".debug_str", ".debug_line_str"}) {
    const Section* section = image.section(name);
    if (section != nullptr && section->size > 0 && image.lastByte(*section) != 0) return false;
  }
  return true;
}

bool holdsScopes(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_module;
}

}  // namespace

DwarfFile::~DwarfFile() {
  if (dwarf) dwarf_end(dwarf);
  if (elf) elf_end(elf);
}

std::string DwarfFile::open(int fd, const ElfImage& image) {
  if (debugBytes(image) > kMaxDebugBytes) return "its debug information is larger than 256 MB";
  std::string why;
  std::unique_ptr<ElfImage> unpacked;
  if (needsUnpacking(image)) {
    plain = plainDebugFile(image, why);
    if (!why.empty()) return why;
    unpacked = ElfImage::openMemory(plain.data(), plain.size(), why);
    if (!unpacked) return why;
  }
  if (!stringsEnd(unpacked ? *unpacked : image)) return "its debug information is damaged";
  elf_version(EV_CURRENT);
  elf = unpacked ? elf_memory(reinterpret_cast<char*>(plain.data()), plain.size()) : elf_begin(fd, ELF_C_READ, nullptr);
  dwarf = elf ? dwarf_begin_elf(elf, DWARF_C_READ, nullptr) : nullptr;
  return dwarf ? "" : std::string("its debug information cannot be read: ") + dwarf_errmsg(-1);
}

std::string DebugLines::open(const LineFiles& files) {
  const auto duplicate = [](int fd) { return FileDescriptor(fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0)); };
  const bool isSeparate = files.debugFile >= 0;
  std::string why;
  own = duplicate(files.program);
  file = duplicate(isSeparate ? files.debugFile : files.program);
  otherFile = duplicate(files.other);
  image = ElfImage::open(own.get(), why);
  if (!image) return why;
  const std::unique_ptr<ElfImage> separate = isSeparate ? ElfImage::open(file.get(), why) : nullptr;
  if (isSeparate && !separate) return why;
  const ElfImage& holder = separate ? *separate : *image;
  if (!hasLines(holder)) return "it has no line table";
  why = dwarf.open(file.get(), holder);
  if (!why.empty()) return why;
  openOther();
  return {};
}

void DebugLines::openOther() {
  const char* name = nullptr;
  const void* id = nullptr;
  const ssize_t size = dwelf_dwarf_gnu_debugaltlink(dwarf.dwarf, &name, &id);
  if (size <= 0) return;
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (ssize_t i = 0; i < size; i++) {
    const uint8_t byte = static_cast<const uint8_t*>(id)[i];
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  std::string error;
  const std::unique_ptr<ElfImage> found = otherFile.valid() ? ElfImage::open(otherFile.get(), error) : nullptr;
  hasEntries = found && found->buildId() == hex && other.open(otherFile.get(), *found).empty();
  // Its own file is no second one: entries are not read then, and libdw has no reason to look for it.
  dwarf_setalt(dwarf.dwarf, hasEntries ? other.dwarf : dwarf.dwarf);
}

bool DebugLines::functionIn(Dwarf_Die& scope, Dwarf_Addr address, Dwarf_Die& function, int depth) {
  return anyEntryOf(scope, depth, [&](Dwarf_Die& entry) {
    const int tag = dwarf_tag(&entry);
    if (tag != DW_TAG_subprogram || dwarf_haspc(&entry, address) <= 0)
      return holdsScopes(tag) && functionIn(entry, address, function, depth + 1);
    function = entry;
    return true;
  });
}

}  // namespace polytop
