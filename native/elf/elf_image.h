// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "elf/packed_section.h"
#include "util/budget.h"

namespace polytop {

/// One section of an ELF file, as its header describes it (bounds not yet checked).
struct Section {
  std::string name;  ///< of .zdebug_…, compressed as before 2016: .debug_…
  uint32_t type = 0;
  uint64_t flags = 0;
  uint64_t address = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t link = 0;
  uint64_t entrySize = 0;
  SectionForm form = SectionForm::kPlain;
};

/// One PT_LOAD or other program header.
struct Segment {
  uint32_t type = 0;
  uint32_t flags = 0;
  uint64_t offset = 0;
  uint64_t address = 0;
  uint64_t fileSize = 0;
};

/**
 * A bounds-checked view of a 64-bit little-endian ELF file for this processor.
 *
 * Reads with pread, never through a mapping: another process may truncate the
 * file at any moment, and a mapped page that is gone would kill the reader.
 * Every byte is hostile: sizes and counts are capped, nothing is trusted. What is
 * read is taken from the budget of the image; each method that reads throws
 * Overspent where that is used up.
 */
class ElfImage {
 public:
  /// Opens the image behind a descriptor of a regular file; does not own `fd`.
  /// Returns null with `error` set where it is no ELF file that can be used.
  static std::unique_ptr<ElfImage> open(int fd, std::string& error);

  /// Opens a 32-bit program of this processor, whose sections, segments and symbols can be read.
  static std::unique_ptr<ElfImage> openNarrow(int fd, std::string& error);

  /// Opens the image in memory (the vDSO). `data` must outlive the image.
  static std::unique_ptr<ElfImage> openMemory(const uint8_t* data, size_t size, std::string& error);

  const std::vector<Segment>& segments() const { return segments_; }
  const std::vector<Section>& sections() const { return sections_; }
  /// The first section of that name, or null.
  const Section* section(std::string_view name) const;
  uint64_t entry() const { return entry_; }
  /// Whether its tables have the form of 32-bit files: openNarrow() opened it.
  bool isNarrow() const { return isNarrow_; }
  /// Whether the kernel or a dynamic linker starts it at its entry point. Linkers wrote one into libraries too, where
  /// nothing is started.
  bool isProgram() const;
  uint64_t fileSize() const { return fileSize_; }
  /// What may still be spent on this file; for those who parse what they read.
  Budget& budget() const { return budget_; }

  /// Bytes [offset, offset + size) of the file, cut at its end. Empty on error or if size is above 1 GB.
  std::vector<uint8_t> read(uint64_t offset, uint64_t size) const;
  /// The content of a section, decompressed where that is needed; empty for SHT_NOBITS or on error.
  std::vector<uint8_t> content(const Section& section) const;
  /// What a section that is compressed says of itself.
  PackedHeader packedHeader(const Section& section) const;
  /// The same as read(), read once for all who look for something in these bytes.
  const std::vector<uint8_t>& kept(uint64_t offset, uint64_t size) const;
  /// The last byte of what content() would return, without keeping it all; 1 where it has none. Of a section that is
  /// compressed with zlib, or not at all.
  uint8_t lastByte(const Section& section) const;
  /// The string at `offset` of the file, at most `limit` bytes.
  std::string readString(uint64_t offset, size_t limit = 4096) const;

  /// File offset of a virtual address by the PT_LOAD segments; false if none holds it.
  bool addressToOffset(uint64_t address, uint64_t& offset) const;
  /// Virtual address of a file offset by the executable PT_LOAD segments first; false if none holds it.
  bool offsetToAddress(uint64_t offset, uint64_t& address) const;

  /// NT_GNU_BUILD_ID as lower-case hex, empty if there is none.
  std::string buildId() const;

 private:
  explicit ElfImage(uint64_t size) : fileSize_(size), budget_(Budget::ofFile(size)) {}
  static std::unique_ptr<ElfImage> openAs(int fd, bool isNarrow, std::string& error);
  bool load(std::string& error);
  template <typename Form>
  bool loadAs(std::string& error);
  bool readExact(uint64_t offset, void* into, size_t size) const;

  int fd_ = -1;
  const uint8_t* memory_ = nullptr;
  uint64_t fileSize_;
  mutable Budget budget_;
  uint64_t entry_ = 0;
  bool isNarrow_ = false;
  bool isFixed_ = false;  ///< ET_EXEC
  std::vector<Segment> segments_;
  std::vector<Section> sections_;
  mutable std::map<std::pair<uint64_t, uint64_t>, std::vector<uint8_t>> kept_;  ///< by offset and size
};

}  // namespace polytop
