// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "elf/elf_image.h"
#include "mapped/identity.h"
#include "mapped/mapped_file.h"
#include "symbols/symbols.h"
#include "util/file_descriptor.h"

namespace polytop {

/// The function at an offset of a file.
struct NamedOffset {
  std::string name;      ///< empty if there is no symbol
  uint64_t address = 0;  ///< start of the function as an address of the file's headers, 0 if it is not known
};

/**
 * A sampled file that is kept open, so that its symbols can be read after it was deleted. What it is asked for is read
 * when it is asked for first, and nothing is told of a file that was written to since its rows were read. One thread
 * asks.
 */
class OpenFile {
 public:
  /// `content`: of the file before its rows were read; nothing if it is a copy. `starts`: UnwindTable::starts.
  /// `image`: null if it is no ELF file.
  OpenFile(MappedFile mapped, std::optional<FileContent> content, std::vector<uint64_t> starts, const ElfImage* image);
  /// The vDSO, whose symbols are read at once: it has no descriptor.
  OpenFile(std::vector<uint64_t> starts, const ElfImage& vdso);

  const FileDescriptor& file() const { return mapped_.file; }
  /// Of the process that mapped it, where that is not our own.
  const FileDescriptor& root() const { return mapped_.root; }
  /// Whether the file still holds what its rows were read from. A file that was no ELF file is a program's own memory,
  /// written to all the time: such a one has changed when it has become an ELF file. Any thread may call it.
  bool isUnchanged() const;

  /// Whether its symbols have to be read before it can say a name.
  bool lacksSymbols() const { return !indexed_ && file().valid(); }
  /// Reads them; what cannot be read leaves it without. Takes up to some tenths of a second.
  void readSymbols();
  /// Forgets them: they can be read again.
  void dropSymbols();
  size_t symbolBytes() const { return symbols_ && file().valid() ? symbols_->memoryBytes() : 0; }
  /// Whether both are of one inode: of two states of a file that was changed.
  bool isOfOneInode(const OpenFile& other) const;

  /// The function that holds a file offset, by the symbols if they are there.
  NamedOffset name(uint64_t offset);
  /// The file offset where that function starts, 0 if it is not known.
  uint64_t functionStart(uint64_t offset);
  /// Bytes of the file, fewer where it ends; with a name: of the file of that name in its folder, none without one.
  std::vector<uint8_t> read(const std::string& name, uint64_t offset, size_t size);

 private:
  /// The root folder of a process that maps the file, as openUnderRoot() takes it.
  std::string rootPath() const;
  /// Returns the start of the code that holds the offset, by the unwind table; 0 if that does not say.
  uint64_t enclosingStart(uint64_t offset) const;
  /// The address in the file's headers of a file offset.
  uint64_t addressOf(uint64_t offset) const;
  /// The descriptor of another file in the folder, -1 if there is none.
  int besideOf(const std::string& name);

  MappedFile mapped_;
  std::optional<FileContent> content_;
  bool isElf_ = true;
  std::vector<uint64_t> starts_;
  std::vector<Segment> code_;                     ///< executable segments
  std::map<std::string, FileDescriptor> beside_;  ///< files that were asked for; invalid ones are not there
  std::unique_ptr<SymbolIndex> symbols_;
  bool indexed_ = false;
};

}  // namespace polytop
