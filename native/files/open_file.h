// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "elf/elf_image.h"
#include "mapped/identity.h"
#include "mapped/mapped_file.h"
#include "naming/symbol_index.h"
#include "unwind/function_starts.h"
#include "util/file_descriptor.h"

namespace polytop {

/// The function at an offset of a file.
struct NamedOffset {
  std::string name;      ///< empty if there is no symbol
  uint64_t address = 0;  ///< start of the function as an address of the file's headers, 0 if it is not known
  uint64_t end = 0;      ///< not 0: the code up to this address may be several functions, of which nothing is known
  const char* why = "";  ///< why it has no name though there may be a symbol, for users
};

/**
 * A sampled file that is kept open, so that its symbols can be read after it was deleted. What it is asked for is read
 * when it is asked for first, and nothing is told of a file that was written to since its rows were read. One thread
 * asks.
 */
class OpenFile {
 public:
  /// `content`: of the file before its rows were read; nothing if it is a copy. `code`: its executable segments.
  OpenFile(MappedFile mapped, std::optional<FileContent> content, FunctionStarts starts, bool isElf,
           std::vector<Segment> code);

  const FileDescriptor& file() const { return mapped_.file; }
  /// The root folder of the process that mapped it, where that is not our own.
  const FileDescriptor& root() const { return mapped_.root; }
  /// The path of that folder, as openUnderRoot() takes it.
  std::string rootPath() const;
  /// What it held before its rows were read; nothing if it is a copy.
  const std::optional<FileContent>& content() const { return content_; }
  /// As its process sees it, for display.
  const std::string& path() const { return mapped_.path; }
  /// Whether the file still holds what its rows were read from. A file that was no ELF file is a program's own memory,
  /// written to all the time: such a one has changed when it has become an ELF file. Any thread may call it.
  bool isUnchanged() const;

  /// The starts of its functions that are known, and that the unwind table said.
  size_t startCount() const { return starts_.size(); }
  /// Forgets them, for good: what has no symbol has no name then.
  void dropStarts() { starts_ = {}; }

  /// Whether its symbols have to be read before it can say a name: they are not there, nobody reads them, and it was
  /// not refused of late.
  bool lacksSymbols() const;
  /// Somebody reads them from now on, until takeSymbols().
  void beginReading() { state_ = Symbols::kAreRead; }
  /// Takes the symbols that were read. Null: that failed, and they are asked for again after a while.
  void takeSymbols(std::unique_ptr<SymbolIndex> symbols);
  /// Whether something could not be read, since names were read last.
  bool hasFailed() const { return failures_ > 0; }
  /// Forgets them: they can be read again.
  void dropSymbols();
  size_t symbolBytes() const { return symbols_ ? symbols_->memoryBytes() : 0; }
  /// Whether it met functions whose names have to be read.
  bool wantsNames() const { return symbols_ && symbols_->isWanting(); }
  /// Its symbols; null if they are not there.
  std::shared_ptr<SymbolIndex> symbols() const { return symbols_; }
  /// Names could be read, or could not: then the symbols are asked for again after a while.
  void noteNames(bool isRead);
  /// Whether both are of one inode: of two states of a file that was changed.
  bool isOfOneInode(const OpenFile& other) const;

  /// The function that holds a file offset, by the symbols if they are there. Where its name is not read yet, it has
  /// none and is wanted. `refresh` is another number for each drain: whether the file is unchanged is asked once in it,
  /// behind all that was read of it until then.
  NamedOffset name(uint64_t offset, uint64_t refresh);
  /// The file offset where the unwind entry starts that holds one, 0 if there is none.
  uint64_t entryStart(uint64_t offset) const { return starts_.enclosing(offset); }
  /// The file offset where the function starts that holds one, 0 if it is not known. `entry`: entryStart() of it.
  uint64_t functionStart(uint64_t offset, uint64_t entry) const;
  /// Has the name of that function wanted, if it is not known.
  void wantName(uint64_t offset, uint64_t entry);
  /// Bytes of the file, fewer where it ends; with a name: of the file of that name in its folder, none without one.
  std::vector<uint8_t> read(const std::string& name, uint64_t offset, size_t size);

 private:
  using Clock = std::chrono::steady_clock;

  /// The code without any unwind entry and symbol that holds an offset, at `entry`, a gap.
  OffsetRange gapAround(uint64_t offset, uint64_t entry) const;
  /// The address in the file's headers of a file offset.
  uint64_t addressOf(uint64_t offset) const;
  /// isUnchanged(), asked at most once in a refresh between two readings.
  bool isUnchangedIn(uint64_t refresh);
  /// The descriptor of another file in the folder, -1 if there is none.
  int besideOf(const std::string& name);

  MappedFile mapped_;
  std::optional<FileContent> content_;
  bool isElf_ = true;
  FunctionStarts starts_;
  std::vector<Segment> code_;                     ///< executable segments
  std::map<std::string, FileDescriptor> beside_;  ///< files that were asked for; invalid ones are not there
  void noteFailure();

  enum class Symbols { kAreMissing, kAreRead, kAreThere };
  Symbols state_ = Symbols::kAreMissing;
  std::shared_ptr<SymbolIndex> symbols_;
  int failures_ = 0;  ///< one after the other
  Clock::time_point retryAt_;
  uint64_t lookedIn_ = 0;  ///< the refresh in which it was asked whether it is unchanged; 0: not since the last reading
  bool wasUnchanged_ = false;
};

}  // namespace polytop
