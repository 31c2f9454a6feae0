// SPDX-License-Identifier: Apache-2.0
#include "unwind/unwind_table.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "arch/arch.h"
#include "unwind/dwarf_rule.h"
#include "unwind/eh_frame.h"
#include "unwind/go_rule.h"
#include "unwind/row_writer.h"
#include "util/radix_sort.h"

namespace polytop {
namespace {

// The largest seen is 9 MB (libLLVM, 118 000 FDEs).
constexpr uint64_t kMaxFrameBytes = 64 << 20;
constexpr uint64_t kMaxHeaderBytes = 32 << 20;
// Less than this between two functions is the padding that aligns the second.
constexpr uint64_t kPadding = 16;
// In the C libraries 10 bytes without an FDE, between the code that makes a thread and what the thread begins with.
constexpr uint64_t kBeforeStart = 32;
// Code of smaller files, such as the C library, may have been called by code of other files that needs the base.
constexpr size_t kFewEntries = 8192;
// Code at the entry point without an FDE: 61 bytes in the dynamic linker of glibc, about 20 in C libraries.
constexpr uint64_t kEntryCode = 128;
// A program has one, seldom two or three; each entry is looked for in all of them.
constexpr size_t kMaxCodeRanges = 32;
// File offsets have 40 bits in a frame.
constexpr uint64_t kMaxOffset = 1ULL << FRAME_FILE_SHIFT;

// The file offset of code and the place of its entry fit into one word.
constexpr uint32_t kPlaceBits = 64 - FRAME_FILE_SHIFT;
static_assert(FrameReader::kMaxFdes <= 1ULL << kPlaceBits);
// An FDE of large programs has 7 to 10 rows. Room that is not used takes no memory.
constexpr uint64_t kRowsOfFde = 10;

/// The code of an executable PT_LOAD, cut at the end of the file.
struct CodeRange {
  uint64_t address;
  uint64_t offset;
  uint64_t size;
};

std::vector<CodeRange> findCode(const ElfImage& image) {
  std::vector<CodeRange> ranges;
  const uint64_t end = std::min(image.fileSize(), kMaxOffset);
  for (const Segment& segment : image.segments()) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0 || segment.offset >= end) continue;
    if (ranges.size() >= kMaxCodeRanges) break;
    ranges.push_back({segment.address, segment.offset, std::min(segment.fileSize, end - segment.offset)});
  }
  return ranges;
}

// Fills in the file offset and cuts the size at the end of the code; false if the address is not code of the file.
bool placeInFile(const std::vector<CodeRange>& code, Fde& fde) {
  for (const CodeRange& range : code) {
    if (fde.address < range.address || fde.address - range.address >= range.size) continue;
    const uint64_t inside = fde.address - range.address;
    fde.offset = range.offset + inside;
    fde.size = static_cast<uint32_t>(std::min<uint64_t>(fde.size, range.size - inside));
    return true;
  }
  return false;
}

/// Builds the rows of one file out of the entries that a FrameReader found.
class TableBuilder {
 public:
  /// `tellsBase`: see RuleFinder.
  TableBuilder(const ElfImage& image, RuleSet& rules, UnwindTable& table, bool tellsBase)
      : code_(findCode(image)),
        budget_(image.budget()),
        rules_(rules, table.lease),
        finder_(rules_, tellsBase),
        table_(table),
        writer_(table) {
    Fde entry;
    entry.address = image.entry();
    entry.size = kEntryCode;
    // 0: a library without one.
    if (entry.address != 0 && placeInFile(code_, entry)) {
      entryOffset_ = entry.offset;
      entryEnd_ = entry.offset + entry.size;
      isProgram_ = image.isProgram();
    }
  }

  void build(const FrameSection& section, FrameReader& reader) {
    std::vector<Fde>& fdes = reader.fdes();
    const std::vector<uint64_t> order = orderByOffset(fdes);
    const size_t placed = order.size();
    table_.starts.reserve(placed);
    table_.rows.reserve(std::min<uint64_t>(placed * kRowsOfFde, MAX_SHARDS * SHARD_ROWS));
    const auto at = [&](size_t i) -> const Fde& { return fdes[order[i] % (1ULL << kPlaceBits)]; };
    for (size_t i = 0; i < placed && !writer_.full();) {
      // Where two FDEs are for the same code, the one that reaches further is used.
      const Fde* fde = &at(i++);
      for (; i < placed && order[i] >> kPlaceBits == fde->offset; i++) {
        if (at(i).size > fde->size) fde = &at(i);
      }
      // FDEs that overlap: the later start wins, as in the search of the C++ runtime.
      uint64_t end = fde->offset + fde->size;
      if (i < placed) end = std::min(end, order[i] >> kPlaceBits);
      closeHole(fde->offset);
      addFunction(section, reader.cie(*fde), *fde, end);
      covered_ = end;
    }
    closeHole(kMaxOffset);
    writer_.flush();

    table_.fdeCount = placed;
    if (placed == 0) table_.source.clear();
    warn(reader, fdes.size() - placed);
  }

  /// What a Go program's own table says of code, none of which has entries that are read.
  void addGoRows(const GoRows& go) {
    for (const GoRow& row : go.rows) {
      Fde place;
      place.address = row.address;
      if (!placeInFile(code_, place)) continue;
      if (goRows_.empty() ? !row.isStart : place.offset < goRows_.back().offset) continue;
      goRows_.push_back({place.offset, rules_.intern(ruleOfGo(go, row)), row.isStart});
    }
  }

  /// Whether the rules of what was built must tell the base.
  bool needsBase() const { return finder_.needsBase(); }

  /// Code without any entries.
  void buildWithoutEntries() {
    for (const PlacedRow& row : goRows_) addGoRow(row);
    writer_.flush();
    table_.fdeCount = table_.starts.size();
    if (table_.fdeCount > 0) table_.source = ".gopclntab";
    table_.isLimited = writer_.full() || rules_.overflowed();
    if (table_.isLimited) table_.warning = writer_.full() ? "too many rows" : "too many rules";
  }

 private:
  struct PlacedRow {
    uint64_t offset;
    uint32_t rule;
    bool isStart;
  };

  void addGoRow(const PlacedRow& row) {
    std::vector<uint64_t>& starts = table_.starts;
    if (row.isStart && (starts.empty() || starts.back() < row.offset)) starts.push_back(row.offset);
    writer_.add(row.offset, row.rule);
  }

  /// Fills in where the code of entries is in the file. Returns offset and place of each that is for code of the file,
  /// by ascending offset.
  std::vector<uint64_t> orderByOffset(std::vector<Fde>& fdes) {
    budget_.takeBytes(2 * fdes.size() * sizeof(uint64_t));
    std::vector<uint64_t> order;
    order.reserve(fdes.size());
    uint64_t highest = 0;
    for (size_t place = 0; place < fdes.size(); place++) {
      Fde& fde = fdes[place];
      // Code that the linker dropped has its FDE at address 0 or 1, in no executable segment.
      if (!placeInFile(code_, fde)) continue;
      order.push_back(fde.offset << kPlaceBits | place);
      highest = std::max(highest, fde.offset);
    }
    radixSort(order, std::bit_width(highest), [](uint64_t it) { return it >> kPlaceBits; });
    return order;
  }

  // The code from covered_ up to `next` has no FDE.
  void closeHole(uint64_t next) {
    const bool first = table_.starts.empty();
    const bool hasEntry =
        goRows_.empty() && entryOffset_ >= covered_ && entryOffset_ < next && entryEnd_ > entryOffset_;
    if (next - covered_ >= kPadding && !first && !(hasEntry && entryOffset_ == covered_)) {
      writer_.add(covered_, kNoRule);
      table_.starts.push_back(covered_);
    }
    for (; goNext_ < goRows_.size() && goRows_[goNext_].offset < next; goNext_++) {
      if (goRows_[goNext_].offset >= covered_) addGoRow(goRows_[goNext_]);
    }
    if (!hasEntry) return;
    // The entry point of the dynamic linker and of some C libraries: the outermost frame, nothing called it
    // (psABI section 3.4.1: the word at sp is argc).
    table_.starts.push_back(entryOffset_);
    writer_.add(entryOffset_, kEndRule);
    if (entryEnd_ < next) writer_.add(entryEnd_, kNoRule);
  }

  void addFunction(const FrameSection& section, const Cie& cie, const Fde& fde, uint64_t end) {
    table_.starts.push_back(fde.offset);
    // Nothing called the function that a program begins in, and what compilers say of any other does not hold for it.
    const bool hasEntry = isProgram_ && entryOffset_ >= fde.offset && entryOffset_ < end;
    if (!hasEntry || entryOffset_ > fde.offset) addRows(section, cie, fde, hasEntry ? entryOffset_ : end);
    if (hasEntry) writer_.add(entryOffset_, kEndRule);
  }

  void addRows(const FrameSection& section, const Cie& cie, const Fde& fde, uint64_t end) {
    CfaMachine machine(section, cie, fde.programBegin, fde.programEnd, fde.address);
    uint64_t at = fde.offset;
    for (;;) {
      const bool more = machine.advance();
      if (machine.malformed()) {
        malformed_++;
        writer_.add(at, kUnsupportedRule);
        return;
      }
      const uint32_t rule = finder_.find(section, cie, machine.state());
      if (rule == kEndRule && at == fde.offset) coverThreadStart(at);
      writer_.add(at, rule);
      const uint64_t distance = machine.location() - fde.address;
      if (!more || distance >= end - fde.offset) return;
      at = fde.offset + distance;
    }
  }

  /// Code that makes a thread has no entry from the system call on: both return from it, the caller and, at the start
  /// of a stack, the new thread. Entries go on where the thread's own code begins, which nothing called.
  void coverThreadStart(uint64_t begin) {
    if (begin == entryOffset_ || covered_ == 0 || begin - covered_ > kBeforeStart || begin == covered_) return;
    unwind_rule rule{};
    rule.cfa = CFA_START;
    rule.cfa_offset = -arch::kReturnAddressOffset;
    rule.ra_offset = arch::kReturnAddressOffset;
    writer_.add(covered_, rules_.intern(rule));
  }

  void warn(const FrameReader& reader, uint64_t outside) {
    std::string& warning = table_.warning;
    const auto add = [&warning](const std::string& what) { warning += (warning.empty() ? "" : ", ") + what; };
    if (reader.skipped() > 0) add(std::to_string(reader.skipped()) + " entries skipped");
    if (malformed_ > 0) add(std::to_string(malformed_) + " programs malformed");
    if (outside > 0) add(std::to_string(outside) + " outside of the code");
    if (reader.cut()) add("section cut");
    if (writer_.full()) add("too many rows");
    if (rules_.overflowed()) add("too many rules");
    table_.isLimited = writer_.full() || rules_.overflowed();
  }

  std::vector<CodeRange> code_;
  Budget& budget_;
  FileRules rules_;
  RuleFinder finder_;
  UnwindTable& table_;
  RowWriter writer_;
  std::vector<PlacedRow> goRows_;
  size_t goNext_ = 0;
  uint64_t entryOffset_ = 0;
  uint64_t entryEnd_ = 0;
  bool isProgram_ = false;
  uint64_t covered_ = 0;  // file offset up to which rows have been written
  uint64_t malformed_ = 0;
};

bool loadSection(const ElfImage& image, const char* name, bool eh, FrameSection& into) {
  const Section* section = image.section(name);
  if (section == nullptr || section->size > kMaxFrameBytes) return false;
  into.bytes = image.content(*section);
  if (into.bytes.size() > kMaxFrameBytes) return false;
  into.address = section->address;
  into.eh = eh;
  return !into.bytes.empty();
}

// Reads what the binary search table of .eh_frame_hdr refers to (LSB Core 10.6.2), for files without section
// headers. The end of .eh_frame is not written anywhere there; the table needs none.
bool readByHeader(const ElfImage& image, FrameSection& section, std::unique_ptr<FrameReader>& reader) {
  for (const Segment& segment : image.segments()) {
    if (segment.type != PT_GNU_EH_FRAME || segment.fileSize > kMaxHeaderBytes) continue;
    const std::vector<uint8_t> header = image.read(segment.offset, segment.fileSize);
    DwarfReader head(header.data(), 0, header.size());
    const uint8_t version = head.fixed<uint8_t>();
    const uint8_t frameEncoding = head.fixed<uint8_t>();
    const uint8_t countEncoding = head.fixed<uint8_t>();
    const uint8_t tableEncoding = head.fixed<uint8_t>();
    const uint64_t frameAddress = head.encodedPointer(frameEncoding, segment.address, segment.address);
    if (version != 1 || head.failed()) return false;

    uint64_t offset = 0;
    if (!image.addressToOffset(frameAddress, offset)) return false;
    uint64_t end = offset;
    for (const Segment& load : image.segments()) {
      if (load.type == PT_LOAD && offset >= load.offset && offset - load.offset < load.fileSize) {
        end = load.offset + load.fileSize;
      }
    }
    if (end <= offset) return false;
    section.bytes = image.read(offset, std::min(end - offset, kMaxFrameBytes));
    section.address = frameAddress;
    section.eh = true;
    reader = std::make_unique<FrameReader>(section);

    if (countEncoding == pointer_encoding::kOmit || tableEncoding == pointer_encoding::kOmit) {
      reader->readToTerminator();
      return true;
    }
    const uint64_t count = head.encodedPointer(countEncoding, segment.address, segment.address);
    for (uint64_t i = 0; i < count && !head.atEnd(); i++) {
      head.encodedPointer(tableEncoding, segment.address, segment.address);
      const uint64_t address = head.encodedPointer(tableEncoding, segment.address, segment.address);
      if (!head.failed()) reader->readOne(address - frameAddress);
    }
    return true;
  }
  return false;
}

}  // namespace

UnwindTable buildUnwindTable(const ElfImage& image, RuleSet& rules) {
  UnwindTable table;
  FrameSection section;
  std::unique_ptr<FrameReader> reader;
  if (loadSection(image, ".eh_frame", true, section)) {
    reader = std::make_unique<FrameReader>(section);
    reader->readAll();
    table.source = ".eh_frame";
  }
  if (reader == nullptr || reader->fdes().empty()) {
    reader.reset();
    if (readByHeader(image, section, reader)) table.source = "PT_GNU_EH_FRAME";
  }
  // What Go's compiler writes into .debug_frame knows neither of frame pointers nor of other stacks.
  const GoRows goRows = readGoRows(image);
  if (goRows.rows.empty() && (reader == nullptr || reader->fdes().empty())) {
    reader.reset();
    if (loadSection(image, ".debug_frame", false, section)) {
      reader = std::make_unique<FrameReader>(section);
      reader->readAll();
      table.source = ".debug_frame";
    }
  }
  if (reader == nullptr || reader->fdes().empty()) {
    table.source.clear();
    TableBuilder builder(image, rules, table, false);
    builder.addGoRows(goRows);
    builder.buildWithoutEntries();
    return table;
  }
  for (const bool tellsBase : {reader->fdes().size() < kFewEntries, true}) {
    UnwindTable built;
    built.source = table.source;
    TableBuilder builder(image, rules, built, tellsBase);
    builder.addGoRows(goRows);
    builder.build(section, *reader);
    if (tellsBase || !builder.needsBase()) return built;
  }
  return table;
}

}  // namespace polytop
