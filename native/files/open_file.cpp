// SPDX-License-Identifier: Apache-2.0
#include "files/open_file.h"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "mapped/named_files.h"
#include "util/bytes.h"

namespace polytop {

namespace {

constexpr size_t kMaxBeside = 1024;  // open files for each
constexpr std::chrono::milliseconds kFirstPause{500};
constexpr int kMaxFailures = 10;

constexpr char kNameNotRead[] = "its name was not read in time: many new functions ran at once";
constexpr char kSymbolsNotRead[] = "the symbols of the file were not read in time: they are there within seconds";
constexpr char kSymbolsRefused[] = "the symbols of the file could not be read";
constexpr char kChanged[] = "the file was changed since its code was met first";

}  // namespace

OpenFile::OpenFile(MappedFile mapped, std::optional<FileContent> content, FunctionStarts starts, bool isElf,
                   std::vector<Segment> code)
    : mapped_(std::move(mapped)),
      content_(content),
      isElf_(isElf),
      starts_(std::move(starts)),
      code_(std::move(code)) {}

bool OpenFile::isUnchanged() const {
  if (!content_ || hasContent(file().get(), *content_)) return true;
  uint32_t magic = 0;
  return !isElf_ && (readSome(file().get(), 0, &magic, sizeof magic) < sizeof magic || memcmp(&magic, ELFMAG, SELFMAG));
}

std::string OpenFile::rootPath() const { return root().valid() ? "/proc/self/fd/" + std::to_string(root().get()) : ""; }

bool OpenFile::lacksSymbols() const {
  return state_ == Symbols::kAreMissing && isElf_ && file().valid() && (failures_ == 0 || Clock::now() >= retryAt_);
}

bool OpenFile::isUnchangedIn(uint64_t refresh) {
  if (lookedIn_ != refresh) wasUnchanged_ = isUnchanged();
  lookedIn_ = refresh;
  return wasUnchanged_;
}

void OpenFile::takeSymbols(std::unique_ptr<SymbolIndex> symbols) {
  lookedIn_ = 0;
  if (!symbols) return noteFailure();
  state_ = Symbols::kAreThere;
  // Asked behind the reading, as for each name.
  symbols_ = isUnchanged() ? std::move(symbols) : nullptr;
}

void OpenFile::noteNames(bool isRead) {
  lookedIn_ = 0;
  if (isRead)
    failures_ = 0;
  else
    noteFailure();
}

void OpenFile::noteFailure() {
  failures_ = std::min(failures_ + 1, kMaxFailures);
  retryAt_ = Clock::now() + kFirstPause * (1 << failures_);
  symbols_.reset();
  state_ = Symbols::kAreMissing;
}

void OpenFile::dropSymbols() {
  if (state_ != Symbols::kAreThere) return;
  symbols_.reset();
  state_ = Symbols::kAreMissing;
}

bool OpenFile::isOfOneInode(const OpenFile& other) const {
  struct stat own = {}, others = {};
  return fstat(file().get(), &own) == 0 && fstat(other.file().get(), &others) == 0 && own.st_dev == others.st_dev &&
         own.st_ino == others.st_ino;
}

uint64_t OpenFile::addressOf(uint64_t offset) const {
  for (const Segment& segment : code_) {
    if (offset >= segment.offset && offset - segment.offset < segment.fileSize)
      return offset - segment.offset + segment.address;
  }
  return offset;
}

void OpenFile::wantName(uint64_t offset, uint64_t entry) {
  if (symbols_) symbols_->find(offset, entry);
}

uint64_t OpenFile::functionStart(uint64_t offset, uint64_t entry) const {
  const uint64_t symbol = symbols_ ? symbols_->startOf(offset, entry) : 0;
  if (symbol) return symbol;
  return starts_.isGap(entry) ? gapAround(offset, entry).begin : entry;
}

OffsetRange OpenFile::gapAround(uint64_t offset, uint64_t entry) const {
  OffsetRange gap = {entry, starts_.around(offset).end};
  for (const Segment& segment : code_) {
    const uint64_t end = segment.offset + segment.fileSize;
    if (gap.end == 0 && offset >= segment.offset && offset < end) gap.end = end;
  }
  return symbols_ ? symbols_->between(offset, gap) : gap;
}

NamedOffset OpenFile::name(uint64_t offset, uint64_t refresh) {
  NamedOffset named;
  uint64_t start = entryStart(offset);
  const bool isGap = starts_.isGap(start);
  bool hasSymbol = false;
  if (symbols_) {
    if (std::optional<Symbol> symbol = symbols_->find(offset, start)) {
      named.name = std::move(symbol->name);
      start = symbol->start;
      hasSymbol = true;
      if (named.name.empty()) named.why = kNameNotRead;
    }
  } else if (isElf_) {
    const bool isRefused = state_ == Symbols::kAreMissing && (hasFailed() || !file().valid());
    named.why = isRefused ? kSymbolsRefused : kSymbolsNotRead;
  }
  if (isGap && !hasSymbol) {
    const OffsetRange gap = gapAround(offset, start);
    start = gap.begin;
    // The last byte is of the same segment.
    if (gap.end > gap.begin) named.end = addressOf(gap.end - 1) + 1;
  }
  if (start) named.address = addressOf(start);
  // Asked behind the reading: nothing that was written meanwhile is told.
  return isUnchangedIn(refresh) ? named : NamedOffset{"", 0, 0, kChanged};
}

int OpenFile::besideOf(const std::string& name) {
  const auto known = beside_.find(name);
  if (known != beside_.end()) return known->second.get();
  if (!file().valid() || beside_.size() >= kMaxBeside) return -1;
  return beside_.emplace(name, openBeside(file().get(), rootPath(), name)).first->second.get();
}

std::vector<uint8_t> OpenFile::read(const std::string& name, uint64_t offset, size_t size) {
  const int fd = name.empty() ? file().get() : besideOf(name);
  std::vector<uint8_t> bytes = fd < 0 ? std::vector<uint8_t>{} : readBytes(fd, offset, size);
  return isUnchanged() ? bytes : std::vector<uint8_t>{};
}

}  // namespace polytop
