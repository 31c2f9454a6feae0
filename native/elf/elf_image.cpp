// SPDX-License-Identifier: Apache-2.0
//
// ELF reader. Facts: System V gABI chapters 4 and 5 (file header, extended
// numbering).
#include "elf/elf_image.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "arch/arch.h"
#include "util/bytes.h"

namespace polytop {
namespace {

constexpr uint64_t kMaxRead = 1ULL << 30;
constexpr uint64_t kMaxSections = 1 << 16;
constexpr uint64_t kMaxSegments = 4096;
constexpr uint64_t kMaxSectionNames = 16 << 20;
constexpr size_t kMaxSectionName = 256;
// A build-id is in one of the first notes: linkers write two or three of them, of some 40 bytes.
constexpr uint64_t kMaxNotes = 64 << 10;
constexpr int kMaxNoteParts = 16;
constexpr std::string_view kOldPrefix = ".zdebug_", kNewPrefix = ".debug_";
// Libraries have some 30 entries in PT_DYNAMIC.
constexpr uint64_t kMaxDynamic = 16 << 10;
// What a read costs beside its bytes: some 0.3 us.
constexpr uint64_t kReadSteps = 64;

/// What the tables of a file are made of.
struct WideForm {
  using FileHeader = Elf64_Ehdr;
  using ProgramHeader = Elf64_Phdr;
  using SectionHeader = Elf64_Shdr;
  static constexpr uint8_t kClass = ELFCLASS64;
  static constexpr uint16_t kMachine = arch::kElfMachine;
};
struct NarrowForm {
  using FileHeader = Elf32_Ehdr;
  using ProgramHeader = Elf32_Phdr;
  using SectionHeader = Elf32_Shdr;
  static constexpr uint8_t kClass = ELFCLASS32;
  static constexpr uint16_t kMachine = arch::kNarrowElfMachine;
};

std::string_view stringAt(const std::vector<uint8_t>& table, uint64_t offset, size_t limit) {
  if (offset >= table.size()) return {};
  const char* start = reinterpret_cast<const char*>(table.data()) + offset;
  const size_t room = std::min<size_t>(table.size() - offset, limit);
  const void* end = std::memchr(start, 0, room);
  return {start, end == nullptr ? room : static_cast<size_t>(static_cast<const char*>(end) - start)};
}

// The descriptor of the NT_GNU_BUILD_ID note in a block of notes (gABI chapter 5, "Note Section"), as hex.
std::string findBuildId(const std::vector<uint8_t>& notes) {
  uint64_t at = 0;
  while (notes.size() - at >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    at += sizeof note;
    const uint64_t nameSize = (note.n_namesz + 3ULL) & ~3ULL;
    const uint64_t descSize = (note.n_descsz + 3ULL) & ~3ULL;
    if (nameSize > notes.size() - at || note.n_descsz > notes.size() - at - nameSize) return {};
    const uint8_t* name = notes.data() + at;
    const uint8_t* desc = name + nameSize;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0 && note.n_descsz > 0 &&
        note.n_descsz <= 64) {
      static constexpr char kDigits[] = "0123456789abcdef";
      std::string hex;
      for (uint32_t i = 0; i < note.n_descsz; i++) {
        hex += kDigits[desc[i] >> 4];
        hex += kDigits[desc[i] & 15];
      }
      return hex;
    }
    at = std::min<uint64_t>(at + nameSize + descSize, notes.size());
  }
  return {};
}

/// How a section with that name is compressed; the name of what it holds is put in place of the old one.
SectionForm formOf(uint64_t flags, std::string& name) {
  if ((flags & SHF_COMPRESSED) != 0) return SectionForm::kHeader;
  if (!name.starts_with(kOldPrefix)) return SectionForm::kPlain;
  name = std::string(kNewPrefix) + name.substr(kOldPrefix.size());
  return SectionForm::kGnu;
}

// Where in [from, from + size) `value` lies; written so that nothing wraps.
bool within(uint64_t value, uint64_t from, uint64_t size) { return value >= from && value - from < size; }

}  // namespace

std::unique_ptr<ElfImage> ElfImage::open(int fd, std::string& error) { return openAs(fd, false, error); }

std::unique_ptr<ElfImage> ElfImage::openNarrow(int fd, std::string& error) { return openAs(fd, true, error); }

std::unique_ptr<ElfImage> ElfImage::openAs(int fd, bool isNarrow, std::string& error) {
  struct stat status;
  if (fstat(fd, &status) != 0) {
    error = std::string("cannot be examined: ") + std::strerror(errno);
    return nullptr;
  }
  if (!S_ISREG(status.st_mode)) {
    error = "not a regular file";
    return nullptr;
  }
  std::unique_ptr<ElfImage> image(new ElfImage(static_cast<uint64_t>(status.st_size)));
  image->fd_ = fd;
  image->isNarrow_ = isNarrow;
  if (!image->load(error)) return nullptr;
  return image;
}

std::unique_ptr<ElfImage> ElfImage::openMemory(const uint8_t* data, size_t size, std::string& error) {
  std::unique_ptr<ElfImage> image(new ElfImage(size));
  image->memory_ = data;
  if (!image->load(error)) return nullptr;
  return image;
}

bool ElfImage::load(std::string& error) { return isNarrow_ ? loadAs<NarrowForm>(error) : loadAs<WideForm>(error); }

template <typename Form>
bool ElfImage::loadAs(std::string& error) {
  using FileHeader = typename Form::FileHeader;
  using ProgramHeader = typename Form::ProgramHeader;
  using SectionHeader = typename Form::SectionHeader;
  FileHeader header;
  if (!readExact(0, &header, sizeof header)) {
    error = "too short for an ELF file";
    return false;
  }
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    error = "not an ELF file";
    return false;
  }
  if (header.e_ident[EI_CLASS] != Form::kClass || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != Form::kMachine || (header.e_type != ET_EXEC && header.e_type != ET_DYN)) {
    error = "not an " + std::string(arch::kName) + " ELF program or shared object";
    return false;
  }
  entry_ = header.e_entry;
  isFixed_ = header.e_type == ET_EXEC;

  // Extended numbering: counts that do not fit are in the first section header.
  SectionHeader first{};
  const bool hasSections = header.e_shoff != 0 && header.e_shentsize == sizeof(SectionHeader) &&
                           readExact(header.e_shoff, &first, sizeof first);
  uint64_t segmentCount = header.e_phnum;
  if (segmentCount == PN_XNUM && hasSections) segmentCount = first.sh_info;
  uint64_t sectionCount = header.e_shnum;
  if (sectionCount == 0 && hasSections) sectionCount = first.sh_size;
  uint64_t namesIndex = header.e_shstrndx;
  if (namesIndex == SHN_XINDEX) namesIndex = first.sh_link;

  if (header.e_phentsize == sizeof(ProgramHeader) && segmentCount <= kMaxSegments) {
    const std::vector<uint8_t> raw = read(header.e_phoff, segmentCount * sizeof(ProgramHeader));
    segments_.reserve(raw.size() / sizeof(ProgramHeader));
    for (size_t at = 0; raw.size() - at >= sizeof(ProgramHeader); at += sizeof(ProgramHeader)) {
      ProgramHeader segment;
      std::memcpy(&segment, raw.data() + at, sizeof segment);
      segments_.push_back({segment.p_type, segment.p_flags, segment.p_offset, segment.p_vaddr, segment.p_filesz});
    }
  }
  // Without section headers (stripped of them, or a lie) the program headers have to do.
  if (!hasSections || sectionCount > kMaxSections) return true;

  const std::vector<uint8_t> raw = read(header.e_shoff, sectionCount * sizeof(SectionHeader));
  const size_t count = raw.size() / sizeof(SectionHeader);
  std::vector<SectionHeader> headers(count);
  if (count > 0) std::memcpy(headers.data(), raw.data(), count * sizeof(SectionHeader));
  std::vector<uint8_t> names;
  if (namesIndex < count && headers[namesIndex].sh_type == SHT_STRTAB) {
    names = read(headers[namesIndex].sh_offset, std::min<uint64_t>(headers[namesIndex].sh_size, kMaxSectionNames));
  }
  sections_.reserve(count);
  for (const SectionHeader& section : headers) {
    std::string name(stringAt(names, section.sh_name, kMaxSectionName));
    const SectionForm form = formOf(section.sh_flags, name);
    sections_.push_back({std::move(name), section.sh_type, section.sh_flags, section.sh_addr, section.sh_offset,
                         section.sh_size, section.sh_link, section.sh_entsize, form});
  }
  return true;
}

bool ElfImage::isProgram() const {
  if (isFixed_) return true;
  for (const Segment& segment : segments_) {
    if (segment.type == PT_INTERP) return true;
    if (segment.type != PT_DYNAMIC) continue;
    const std::vector<uint8_t> raw = read(segment.offset, std::min(segment.fileSize, kMaxDynamic));
    for (size_t at = 0; raw.size() - at >= sizeof(Elf64_Dyn); at += sizeof(Elf64_Dyn)) {
      const auto entry = valueAt<Elf64_Dyn>(raw, at);
      if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE) != 0) return true;
    }
  }
  return false;
}

const Section* ElfImage::section(std::string_view name) const {
  for (const Section& section : sections_) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

bool ElfImage::readExact(uint64_t offset, void* into, size_t size) const {
  if (offset > fileSize_ || size > fileSize_ - offset) return false;
  budget_.takeSteps(kReadSteps);
  if (memory_ != nullptr) {
    std::memcpy(into, memory_ + offset, size);
    return true;
  }
  return readSome(fd_, offset, into, size) == size;
}

std::vector<uint8_t> ElfImage::read(uint64_t offset, uint64_t size) const {
  if (size > kMaxRead || offset >= fileSize_) return {};
  size = std::min(size, fileSize_ - offset);
  budget_.takeSteps(kReadSteps);
  budget_.takeBytes(size);
  if (memory_ != nullptr) return {memory_ + offset, memory_ + offset + size};
  return readBytes(fd_, offset, size);
}

std::vector<uint8_t> ElfImage::content(const Section& section) const {
  if (section.type == SHT_NOBITS) return {};
  std::vector<uint8_t> bytes = read(section.offset, section.size);
  return section.form == SectionForm::kPlain ? bytes : unpack(bytes, section.form, budget_);
}

PackedHeader ElfImage::packedHeader(const Section& section) const {
  return readPackedHeader(read(section.offset, std::min(section.size, kPackedHeader)), section.form);
}

const std::vector<uint8_t>& ElfImage::kept(uint64_t offset, uint64_t size) const {
  const auto known = kept_.find({offset, size});
  if (known != kept_.end()) return known->second;
  return kept_.emplace(std::pair{offset, size}, read(offset, size)).first->second;
}

uint8_t ElfImage::lastByte(const Section& section) const {
  if (section.type == SHT_NOBITS || section.size == 0) return 1;
  if (section.form != SectionForm::kPlain) return lastUnpackedByte(read(section.offset, section.size));
  const std::vector<uint8_t> bytes = read(section.offset + section.size - 1, 1);
  return bytes.empty() ? 1 : bytes.back();
}

std::string ElfImage::readString(uint64_t offset, size_t limit) const {
  const std::vector<uint8_t> bytes = read(offset, limit);
  return std::string(stringAt(bytes, 0, limit));
}

bool ElfImage::addressToOffset(uint64_t address, uint64_t& offset) const {
  budget_.takeSteps(segments_.size());
  for (const Segment& segment : segments_) {
    if (segment.type != PT_LOAD || !within(address, segment.address, segment.fileSize)) continue;
    offset = segment.offset + (address - segment.address);
    return true;
  }
  return false;
}

bool ElfImage::offsetToAddress(uint64_t offset, uint64_t& address) const {
  for (const bool executable : {true, false}) {
    for (const Segment& segment : segments_) {
      if (segment.type != PT_LOAD || ((segment.flags & PF_X) != 0) != executable) continue;
      if (!within(offset, segment.offset, segment.fileSize)) continue;
      address = segment.address + (offset - segment.offset);
      return true;
    }
  }
  return false;
}

std::string ElfImage::buildId() const {
  // Sections first: in a separate debug file the program headers describe what is not in it.
  int partsLeft = kMaxNoteParts;
  for (const Section& section : sections_) {
    if (section.type != SHT_NOTE || partsLeft-- <= 0) continue;
    std::string id = findBuildId(read(section.offset, std::min(section.size, kMaxNotes)));
    if (!id.empty()) return id;
  }
  partsLeft = kMaxNoteParts;
  for (const Segment& segment : segments_) {
    if (segment.type != PT_NOTE || partsLeft-- <= 0) continue;
    std::string id = findBuildId(read(segment.offset, std::min(segment.fileSize, kMaxNotes)));
    if (!id.empty()) return id;
  }
  return {};
}

}  // namespace polytop
