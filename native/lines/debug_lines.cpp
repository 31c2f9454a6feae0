// SPDX-License-Identifier: Apache-2.0
#include "lines/debug_lines.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace polytop {
namespace {

constexpr uint64_t kMaxDebugBytes = 256u << 20;

/// What reading a section takes, at its full size where it is compressed.
uint64_t fullSize(const ElfImage& image, const Section& section) {
  Elf64_Chdr header;
  if (!(section.flags & SHF_COMPRESSED)) return section.size;
  const std::vector<uint8_t> bytes = image.read(section.offset, sizeof header);
  if (bytes.size() < sizeof header) return section.size;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.ch_size;
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

/// Whether libdw may read it; else `why` says why not. The old way to compress has no checked size.
bool isSound(const ElfImage& image, std::string& why) {
  const bool isOld = std::any_of(image.sections().begin(), image.sections().end(),
                                 [](const Section& section) { return section.name.starts_with(".zdebug_"); });
  if (debugBytes(image) > kMaxDebugBytes) {
    why = "its debug information is larger than 256 MB";
  } else if (isOld || !stringsEnd(image)) {
    why = "its debug information is damaged, or compressed as before 2016";
  }
  return why.empty();
}

bool holdsScopes(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_module;
}

}  // namespace

DwarfFile::~DwarfFile() {
  if (dwarf) dwarf_end(dwarf);
  if (elf) elf_end(elf);
}

bool DwarfFile::open(int fd) {
  elf_version(EV_CURRENT);
  elf = elf_begin(fd, ELF_C_READ, nullptr);
  dwarf = elf ? dwarf_begin_elf(elf, DWARF_C_READ, nullptr) : nullptr;
  return dwarf != nullptr;
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
  if (!isSound(holder, why)) return why;
  if (!dwarf.open(file.get())) return std::string("its debug information cannot be read: ") + dwarf_errmsg(-1);
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
  hasEntries = found && found->buildId() == hex && isSound(*found, error) && other.open(otherFile.get());
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
