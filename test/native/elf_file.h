// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

/// A file in memory that is written piece by piece, with holes, and as large as its last piece needs.
class SparseFile {
 public:
  /// In memory, unless there is a path.
  explicit SparseFile(const std::string& path = "")
      : fd_(path.empty() ? memfd_create("made", MFD_CLOEXEC)
                         : open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0755)) {}
  SparseFile(const SparseFile&) = delete;
  SparseFile& operator=(const SparseFile&) = delete;
  ~SparseFile() { close(fd_); }

  int fd() const { return fd_; }

  template <typename Bytes>
  void put(uint64_t offset, const Bytes& bytes) {
    write(offset, bytes.data(), bytes.size() * sizeof *bytes.data());
  }
  template <typename Value>
  void putValue(uint64_t offset, const Value& value) {
    write(offset, &value, sizeof value);
  }
  void grow(uint64_t size) {
    if (ftruncate(fd_, static_cast<off_t>(size)) != 0) fail();
  }

 private:
  [[noreturn]] static void fail() {
    std::perror("a made file");
    std::exit(2);
  }
  void write(uint64_t offset, const void* data, size_t size) {
    for (size_t done = 0; done < size;) {
      const ssize_t got =
          pwrite(fd_, static_cast<const char*>(data) + done, size - done, static_cast<off_t>(offset + done));
      if (got <= 0) fail();
      done += static_cast<size_t>(got);
    }
  }

  int fd_;
};

/// An ELF file whose headers say whatever they are told to; what they refer to is put into `file`.
class LyingElf {
 public:
  explicit LyingElf(const std::string& path = "") : file(path) {}

  SparseFile file;

  void addSegment(uint32_t type, uint32_t flags, uint64_t offset, uint64_t address, uint64_t size) {
    segments_.push_back({type, flags, offset, address, address, size, size, 4096});
  }
  /// Returns its index.
  uint32_t addSection(const std::string& name, uint32_t type, uint64_t flags, uint64_t address, uint64_t offset,
                      uint64_t size, uint32_t link = 0, uint64_t entrySize = 0) {
    sections_.push_back(
        {static_cast<uint32_t>(names_.size()), type, flags, address, offset, size, link, 0, 1, entrySize});
    names_ += name;
    names_ += '\0';
    return static_cast<uint32_t>(sections_.size() - 1);
  }

  /// Writes the headers at the start, and the sections' at an offset behind all that was put.
  void finish(uint64_t sectionsOffset) {
    const uint32_t namesIndex = addSection(".shstrtab", SHT_STRTAB, 0, 0, sectionsOffset, 0);
    sections_[namesIndex].sh_size = names_.size();
    file.put(sectionsOffset, names_);
    const uint64_t table = (sectionsOffset + names_.size() + 63) / 64 * 64;
    Elf64_Ehdr head = {};
    const unsigned char ident[] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
    std::copy(std::begin(ident), std::end(ident), head.e_ident);
    head.e_type = ET_DYN;
    head.e_machine = EM_X86_64;
    head.e_version = EV_CURRENT;
    head.e_phoff = sizeof head;
    head.e_shoff = table;
    head.e_ehsize = sizeof head;
    head.e_phentsize = sizeof(Elf64_Phdr);
    head.e_phnum = static_cast<uint16_t>(segments_.size());
    head.e_shentsize = sizeof(Elf64_Shdr);
    const bool isExtended = sections_.size() >= SHN_LORESERVE;
    head.e_shnum = isExtended ? 0 : static_cast<uint16_t>(sections_.size());
    head.e_shstrndx = isExtended ? SHN_XINDEX : static_cast<uint16_t>(namesIndex);
    if (isExtended) {
      sections_[0].sh_size = sections_.size();
      sections_[0].sh_link = namesIndex;
    }
    file.putValue(0, head);
    file.put(sizeof head, segments_);
    file.put(table, sections_);
  }

 private:
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_ = std::vector<Elf64_Shdr>(1);
  std::string names_ = std::string(1, '\0');
};
