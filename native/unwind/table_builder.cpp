// SPDX-License-Identifier: Apache-2.0
#include "unwind/table_builder.h"

#include <algorithm>
#include <bit>

#include "arch/arch.h"
#include "unwind/go_rule.h"
#include "util/radix_sort.h"

namespace polytop {
namespace {

// Less than this between two functions is the padding that aligns the second.
constexpr uint64_t kPadding = 16;
// In the C libraries 10 bytes without an FDE, between the code that makes a thread and what the thread begins with.
constexpr uint64_t kBeforeStart = 32;
// File offsets have 40 bits in a frame.
constexpr uint64_t kMaxOffset = 1ULL << FRAME_FILE_SHIFT;

// The file offset of code and the place of its entry fit into one word.
constexpr uint32_t kPlaceBits = 64 - FRAME_FILE_SHIFT;
static_assert(2 * FrameReader::kMaxFdes <= 1ULL << kPlaceBits, "two sections have entries at most");
// An FDE of large programs has 7 to 10 rows. Room that is not used takes no memory.
constexpr uint64_t kRowsOfFde = 10;

uint64_t offsetOf(uint64_t word) { return word >> kPlaceBits; }

// Fills in the file offset and cuts the size at the end of the code; false if the address is not code of the file.
bool placeInFile(const CodePlaces& code, Fde& fde) {
  const CodeRange* range = code.find(fde.address);
  if (range == nullptr) return false;
  const uint64_t inside = fde.address - range->address;
  fde.offset = range->offset + inside;
  fde.size = static_cast<uint32_t>(std::min<uint64_t>(fde.size, range->size - inside));
  return true;
}

}  // namespace

TableBuilder::TableBuilder(const ElfImage& image, RuleSet& rules, UnwindTable& table, bool tellsBase)
    : code_(image),
      budget_(image.budget()),
      rules_(rules, table.lease),
      finder_(rules_, tellsBase),
      table_(table),
      writer_(table) {
  Fde entry;
  entry.address = image.entry();
  entry.size = kGuessedEntryBytes;
  // 0: a library without one.
  if (entry.address != 0 && placeInFile(code_, entry)) {
    entryOffset_ = entry.offset;
    entryEnd_ = entry.offset + entry.size;
    isProgram_ = image.isProgram();
  }
}

TableBuilder::Entry TableBuilder::entryAt(std::span<const FrameSource> sources, uint64_t word) const {
  size_t place = word % (1ULL << kPlaceBits);
  const FrameSource* source = sources.data();
  for (; place >= source->reader.fdes().size(); source++) place -= source->reader.fdes().size();
  return {source, &source->reader.fdes()[place]};
}

void TableBuilder::build(std::span<const FrameSource> sources) {
  std::vector<uint64_t> order = orderByOffset(sources);
  const size_t found = order.size();
  if (sources.size() > 1) dropCovered(sources, order);
  const size_t placed = order.size();
  table_.starts.reserve(placed);
  table_.rows.reserve(std::min<uint64_t>(placed * kRowsOfFde, MAX_SHARDS * SHARD_ROWS));
  for (size_t i = 0; i < placed && !writer_.full();) {
    // Where two FDEs are for the same code, the one that reaches further is used.
    Entry entry = entryAt(sources, order[i++]);
    const uint64_t offset = entry.fde->offset;
    for (; i < placed && offsetOf(order[i]) == offset; i++) {
      const Entry other = entryAt(sources, order[i]);
      if (other.fde->size > entry.fde->size) entry = other;
    }
    // FDEs that overlap: the later start wins, as in the search of the C++ runtime.
    uint64_t end = offset + entry.fde->size;
    if (i < placed) end = std::min(end, offsetOf(order[i]));
    closeHole(offset);
    addFunction(entry, end);
    covered_ = end;
  }
  closeHole(kMaxOffset);
  writer_.flush();

  table_.fdeCount = placed;
  if (placed == 0) table_.source.clear();
  size_t read = 0;
  for (const FrameSource& source : sources) read += source.reader.fdes().size();
  warn(sources, read - found);
}

void TableBuilder::addGoRows(const GoRows& go) {
  for (const GoRow& row : go.rows) {
    Fde place;
    place.address = row.address;
    if (!placeInFile(code_, place)) continue;
    if (goRows_.empty() ? !row.isStart : place.offset < goRows_.back().offset) continue;
    goRows_.push_back({place.offset, rules_.intern(ruleOfGo(go, row)), row.isStart});
  }
}

void TableBuilder::buildWithoutEntries() {
  for (const PlacedRow& row : goRows_) addGoRow(row);
  writer_.flush();
  table_.fdeCount = table_.starts.size();
  if (table_.fdeCount > 0) table_.source = ".gopclntab";
  table_.isLimited = writer_.full() || rules_.overflowed();
  if (table_.isLimited) table_.warning = writer_.full() ? "too many rows" : "too many rules";
}

void TableBuilder::addGoRow(const PlacedRow& row) {
  std::vector<uint64_t>& starts = table_.starts;
  if (row.isStart && (starts.empty() || starts.back() < row.offset)) starts.push_back(row.offset);
  writer_.add(row.offset, row.rule);
}

/// Fills in where the code of entries is in the file. Returns offset and place of each that is for code of the file,
/// by ascending offset, at each offset by ascending place.
std::vector<uint64_t> TableBuilder::orderByOffset(std::span<const FrameSource> sources) {
  size_t count = 0, place = 0;
  for (const FrameSource& source : sources) count += source.reader.fdes().size();
  budget_.takeBytes(2 * count * sizeof(uint64_t));
  std::vector<uint64_t> order;
  order.reserve(count);
  uint64_t highest = 0;
  for (const FrameSource& source : sources) {
    for (Fde& fde : source.reader.fdes()) {
      const size_t own = place++;
      // Code that the linker dropped has its FDE at address 0 or 1, in no executable segment.
      if (!placeInFile(code_, fde)) continue;
      order.push_back(fde.offset << kPlaceBits | own);
      highest = std::max(highest, fde.offset);
    }
  }
  radixSort(order, std::bit_width(highest), offsetOf);
  return order;
}

/// Leaves out entries of later sources for code that the first one covers, even in part.
void TableBuilder::dropCovered(std::span<const FrameSource> sources, std::vector<uint64_t>& order) const {
  const auto isFirst = [&](const Entry& entry) { return entry.source == sources.data(); };
  // Where the first source covers code next, seen from behind, and how far it covers, seen from the front.
  std::vector<uint64_t> kept;
  uint64_t next = kMaxOffset;
  for (size_t i = order.size(); i-- > 0;) {
    const Entry entry = entryAt(sources, order[i]);
    if (isFirst(entry)) next = entry.fde->offset;
    if (isFirst(entry) || entry.fde->offset + entry.fde->size <= next) kept.push_back(order[i]);
  }
  order.clear();
  uint64_t covered = 0;
  for (size_t i = kept.size(); i-- > 0;) {
    const Entry entry = entryAt(sources, kept[i]);
    if (!isFirst(entry) && entry.fde->offset < covered) continue;
    if (isFirst(entry)) covered = std::max(covered, entry.fde->offset + entry.fde->size);
    order.push_back(kept[i]);
  }
}

// The code from covered_ up to `next` has no FDE.
void TableBuilder::closeHole(uint64_t next) {
  const bool first = table_.starts.empty();
  const bool hasEntry = goRows_.empty() && entryOffset_ >= covered_ && entryOffset_ < next && entryEnd_ > entryOffset_;
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

void TableBuilder::addFunction(const Entry& entry, uint64_t end) {
  const Fde& fde = *entry.fde;
  table_.starts.push_back(fde.offset);
  // Nothing called the function that a program begins in, and what compilers say of any other does not hold for it.
  const bool hasEntry = isProgram_ && entryOffset_ >= fde.offset && entryOffset_ < end;
  if (!hasEntry || entryOffset_ > fde.offset) addRows(entry, hasEntry ? entryOffset_ : end);
  if (hasEntry) writer_.add(entryOffset_, kEndRule);
}

void TableBuilder::addRows(const Entry& entry, uint64_t end) {
  const Fde& fde = *entry.fde;
  const FrameSection& section = entry.source->section;
  const Cie& cie = entry.source->reader.cie(fde);
  CfaMachine machine(section, cie, fde.programBegin, fde.programEnd, fde.address);
  uint64_t at = fde.offset;
  DepthWalk depths;
  const size_t doubts = table_.doubts.size();
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
    depths.add(machine.state(), at, table_.doubts);
    const uint64_t distance = machine.location() - fde.address;
    if (!more || distance >= end - fde.offset) break;
    at = fde.offset + distance;
  }
  depths.end(end, table_.doubts);
  for (size_t i = doubts; i < table_.doubts.size(); i++) {
    table_.doubts[i].begin = fde.offset;
    table_.doubts[i].end = end;
  }
}

/// Code that makes a thread has no entry from the system call on: both return from it, the caller and, at the start
/// of a stack, the new thread. Entries go on where the thread's own code begins, which nothing called.
void TableBuilder::coverThreadStart(uint64_t begin) {
  if (begin == entryOffset_ || covered_ == 0 || begin - covered_ > kBeforeStart || begin == covered_) return;
  unwind_rule rule{};
  rule.cfa = CFA_START;
  rule.cfa_offset = -arch::kReturnAddressOffset;
  rule.ra_offset = arch::kReturnAddressOffset;
  writer_.add(covered_, rules_.intern(rule));
}

void TableBuilder::warn(std::span<const FrameSource> sources, uint64_t outside) {
  std::string& warning = table_.warning;
  const auto add = [&warning](const std::string& what) { warning += (warning.empty() ? "" : ", ") + what; };
  uint64_t skipped = 0;
  bool isCut = false;
  for (const FrameSource& source : sources) {
    skipped += source.reader.skipped();
    isCut |= source.reader.cut();
  }
  if (skipped > 0) add(std::to_string(skipped) + " entries skipped");
  if (malformed_ > 0) add(std::to_string(malformed_) + " programs malformed");
  if (outside > 0) add(std::to_string(outside) + " outside of the code");
  if (isCut) add("section cut");
  if (writer_.full()) add("too many rows");
  if (rules_.overflowed()) add("too many rules");
  table_.isLimited = writer_.full() || rules_.overflowed();
}

}  // namespace polytop
