// SPDX-License-Identifier: Apache-2.0
#include "code/code_rows.h"

#include <algorithm>
#include <set>
#include <utility>

#include "code/code_holes.h"
#include "code/code_piece.h"
#include "code/row_merge.h"
#include "elf/code_places.h"
#include "symbols/symbol_table.h"
#include "unwind/row_writer.h"

namespace polytop {
namespace {

/// So much code is looked at at once: a parser has little memory. Jumps from one piece to another are not followed.
constexpr uint64_t kPieceBytes = 3 << 20;
/// Memory for each byte of a piece: CodeFlow has a state and a mark for it.
constexpr uint64_t kMemoryOfByte = 9;
/// More bytes of symbols for each byte of code are not worth to be read. Every program has some hundred bytes of such
/// code, of the C library's start files.
constexpr uint64_t kMostSymbolBytes = 64;
/// Each instruction is looked at up to ten times, and has four bytes. The most take half a second.
constexpr uint64_t kStepsOfByte = 8, kLeastSteps = 1 << 16, kMostSteps = 8 << 20;

/// What is found in a file's holes.
class HoleReader {
 public:
  HoleReader(const ElfImage& image, RuleSet& rules, UnwindTable& table, std::vector<CodeHole> holes)
      : image_(image), holes_(std::move(holes)), rules_(rules, table.lease), places_(image) {
    uint64_t bytes = 0;
    for (const CodeHole& hole : holes_) bytes += hole.size;
    steps_ = std::min(kMostSteps, kLeastSteps + bytes * kStepsOfByte);
    uint64_t symbolBytes = 0;
    for (const Section& section : image.sections()) {
      if (section.type == SHT_SYMTAB || section.type == SHT_DYNSYM)
        symbolBytes += std::min(section.size, image.fileSize());
    }
    if (symbolBytes / kMostSymbolBytes <= bytes) readSymbols();
    const CodeRange* range = image.entry() != 0 ? places_.find(image.entry()) : nullptr;
    if (range != nullptr) entry_ = range->offset + (image.entry() - range->address);
  }

  void read() {
    uint64_t largest = 0;
    for (const CodeHole& hole : holes_) largest = std::max(largest, hole.size);
    // One piece after the other takes the same memory.
    image_.budget().takeBytes(std::min(largest, kPieceBytes) * kMemoryOfByte);
    for (const CodeHole& hole : holes_) {
      for (uint64_t at = hole.offset; at < hole.offset + hole.size && steps_ > 0;) {
        const uint64_t size = pieceSize(at, hole.offset + hole.size - at);
        readPiece(at, size);
        at += size;
      }
    }
  }

  const std::vector<PlacedRow>& rows() const { return rows_; }
  const std::set<uint64_t>& starts() const { return starts_; }
  size_t functions() const { return functions_; }

 private:
  void readSymbols() {
    const CodeRanges code(image_);
    std::vector<SymbolEntry> entries;
    for (const uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) polytop::readSymbols(image_, type, code, entries);
    image_.budget().takeBytes(entries.size() * sizeof(uint64_t));
    for (const SymbolEntry& entry : entries) {
      if (isInHole(entry.start)) symbols_.push_back(entry.start);
    }
    std::sort(symbols_.begin(), symbols_.end());
    symbols_.erase(std::unique(symbols_.begin(), symbols_.end()), symbols_.end());
  }

  bool isInHole(uint64_t offset) const {
    const auto above = std::upper_bound(holes_.begin(), holes_.end(), offset,
                                        [](uint64_t value, const CodeHole& hole) { return value < hole.offset; });
    return above != holes_.begin() && offset - std::prev(above)->offset < std::prev(above)->size;
  }

  /// A piece ends where a function begins, if that is known.
  uint64_t pieceSize(uint64_t at, uint64_t left) const {
    if (left <= kPieceBytes) return left;
    const auto above = std::upper_bound(symbols_.begin(), symbols_.end(), at + kPieceBytes);
    if (above == symbols_.begin() || *std::prev(above) <= at + kPieceBytes / 2) return kPieceBytes;
    return *std::prev(above) - at;
  }

  /// Whether a place holds a function that the file's own table, or what was read so far, knows.
  bool isFunction(uint64_t offset) const {
    if (starts_.contains(offset)) return true;
    if (isInHole(offset)) return false;
    return std::any_of(places_.ranges().begin(), places_.ranges().end(), [&](const CodeRange& range) {
      return offset >= range.offset && offset - range.offset < range.size;
    });
  }

  void readPiece(uint64_t begin, uint64_t size) {
    const std::vector<uint8_t> code = image_.read(begin, size);
    const uint64_t before = steps_;
    CodePiece piece(code, begin, states_, memory_, steps_,
                    [&](int64_t inside) { return isFunction(begin + static_cast<uint64_t>(inside)); });
    const auto isHere = [&](uint64_t offset) { return offset >= begin && offset - begin < code.size(); };
    for (auto symbol = std::lower_bound(symbols_.begin(), symbols_.end(), begin);
         symbol != symbols_.end() && isHere(*symbol); ++symbol)
      piece.addSymbol(static_cast<uint32_t>(*symbol - begin));
    for (auto called = called_.lower_bound(begin); called != called_.end() && isHere(*called); ++called)
      piece.addCalled(static_cast<uint32_t>(*called - begin));
    if (isHere(entry_)) piece.addEntry(static_cast<uint32_t>(entry_ - begin));
    piece.analyze();
    for (const int64_t target : piece.callsOutside()) {
      const uint64_t offset = begin + static_cast<uint64_t>(target);
      if (isInHole(offset)) called_.insert(offset);
    }
    image_.budget().takeSteps((before - steps_) * kBudgetOfStep);
    take(piece, begin, code);
  }

  void take(const CodePiece& piece, uint64_t begin, const std::vector<uint8_t>& code) {
    const std::vector<uint32_t> starts = piece.starts();
    for (const uint32_t start : starts) starts_.insert(begin + start);
    functions_ += starts.size();
    std::vector<PlacedRow> rows = {{begin, kNoRule}};
    for (const PieceRow& row : piece.rows()) {
      const uint32_t rule = row.state == 0 ? kNoRule : rules_.intern(ruleOf(states_[row.state]));
      rows.push_back({begin + row.offset, rule});
    }
    rows.push_back({begin + code.size(), kNoRule});
    unwind_rule signal{};
    signal.cfa = CFA_SIGNAL;
    const auto cover = [&](uint32_t place, uint32_t rule) {
      const uint64_t first = begin + place - 1;
      const uint64_t end = begin + place + arch::signalReturnBytes(std::span(code).subspan(place));
      std::erase_if(rows, [&](const PlacedRow& row) { return row.offset >= first && row.offset < end; });
      const auto where =
          std::find_if(rows.begin(), rows.end(), [&](const PlacedRow& row) { return row.offset >= end; });
      rows.insert(where, {{first, rule}, {end, kNoRule}});
      return first;
    };
    for (const uint32_t place : piece.signalReturns()) starts_.insert(cover(place, rules_.intern(signal)));
    for (const uint32_t place : piece.joinedReturns()) cover(place, kNoRule);
    rows_.insert(rows_.end(), rows.begin(), rows.end());
  }

  const ElfImage& image_;
  const std::vector<CodeHole> holes_;
  FileRules rules_;
  const CodePlaces places_;
  StateSet states_;
  FlowMemory memory_;
  uint64_t steps_ = 0;
  uint64_t entry_ = UINT64_MAX;
  std::vector<uint64_t> symbols_;
  std::set<uint64_t> called_, starts_;
  std::vector<PlacedRow> rows_;
  size_t functions_ = 0;
};

}  // namespace

void addCodeRows(const ElfImage& image, UnwindTable& table, RuleSet& rules) {
  const std::vector<CodeHole> holes = findHoles(image, table);
  if (holes.empty() || table.isLimited) return;
  HoleReader reader(image, rules, table, holes);
  try {
    reader.read();
  } catch (const Overspent&) {
    // The rest of the file is read as it was before: what has no rows stays so.
    return;
  }
  if (reader.functions() == 0) return;
  image.budget().takeBytes((table.rows.size() + reader.rows().size()) * sizeof(uint32_t));
  replaceRows(table, holes, reader.rows());
  const size_t known = table.starts.size();
  table.starts.insert(table.starts.end(), reader.starts().begin(), reader.starts().end());
  std::inplace_merge(table.starts.begin(), table.starts.begin() + static_cast<ptrdiff_t>(known), table.starts.end());
  table.starts.erase(std::unique(table.starts.begin(), table.starts.end()), table.starts.end());
  if (table.source.empty()) table.source = "instructions";
  table.fdeCount += reader.functions();
}

}  // namespace polytop
