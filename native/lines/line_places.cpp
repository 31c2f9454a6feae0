// SPDX-License-Identifier: Apache-2.0
#include "lines/line_places.h"

#include <dwarf.h>
#include <elf.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace polytop {
namespace {

/// Rows of line tables that are looked at; those of a program of 200 MB are fewer.
constexpr size_t kMaxRows = 50'000'000;
constexpr size_t kMaxEntries = 20'000'000;

/// Whether a path ends in these components.
bool endsIn(std::string_view path, std::string_view source) {
  if (!path.ends_with(source)) return false;
  return path.size() == source.size() || path[path.size() - source.size() - 1] == '/' || source.starts_with('/');
}

/// Linkers leave rows of functions behind that they dropped: their addresses are no code.
bool isCode(const ElfImage& image, uint64_t address) {
  const auto has = [address](const auto& part, uint64_t size) {
    return address >= part.address && address - part.address < size;
  };
  bool isKnown = false;
  for (const Section& section : image.sections()) {
    if ((section.flags & SHF_EXECINSTR) == 0) continue;
    if (has(section, section.size)) return true;
    isKnown = true;
  }
  return !isKnown && std::ranges::any_of(image.segments(), [&](const Segment& segment) {
    return segment.type == PT_LOAD && (segment.flags & PF_X) != 0 && has(segment, segment.fileSize);
  });
}

/// A place, the better the smaller: parts of a function that are seldom run may lie before its other ones.
struct Place {
  bool isAside = false;  ///< outside of the code around the function's entry
  Dwarf_Addr address = 0;
  auto operator<=>(const Place&) const = default;
};

class Search {
 public:
  Search(DebugLines& lines, const std::string& source, uint32_t line) : lines_(lines), source_(source), line_(line) {
    lines_.entriesLeft = kMaxEntries;
  }

  LinePlaces run() {
    Dwarf_CU* cu = nullptr;
    Dwarf_Die unit;
    uint8_t type = 0;
    // A unit whose entries are in a file of their own (.dwo) has its lines here all the same.
    while (dwarf_get_units(lines_.dwarf.dwarf, cu, &cu, nullptr, &type, &unit, nullptr) == 0) {
      if (type == DW_UT_compile || type == DW_UT_skeleton) lookInto(unit);
    }
    return result();
  }

 private:
  bool isMeant(const char* path) {
    if (path == nullptr) return false;
    const auto [at, isNew] = meant_.try_emplace(path, false);
    if (isNew) at->second = endsIn(path, source_);
    if (at->second && sources_.size() < LinePlaces::kMostSources) sources_.insert(path);
    return at->second;
  }

  bool hasSource(Dwarf_Die& unit) {
    Dwarf_Files* files = nullptr;
    size_t count = 0;
    if (dwarf_getsrcfiles(&unit, &files, &count) != 0) return false;
    for (size_t i = 0; i < count; i++) {
      const char* path = dwarf_filesrc(files, i, nullptr, nullptr);
      if (path != nullptr && endsIn(path, source_)) return true;
    }
    return false;
  }

  void lookInto(Dwarf_Die& unit) {
    Dwarf_Lines* rows = nullptr;
    size_t count = 0;
    meant_.clear();
    if (!hasSource(unit) || dwarf_getsrclines(&unit, &rows, &count) != 0) return;
    bool goesOn = false;
    for (size_t i = 0; i < count && rowsLeft_ > 0; i++, rowsLeft_--) {
      Dwarf_Line* row = dwarf_onesrcline(rows, i);
      int line = 0;
      bool isEnd = false, isStatement = false;
      Dwarf_Addr address = 0;
      dwarf_lineendsequence(row, &isEnd);
      dwarf_linebeginstatement(row, &isStatement);
      const bool isKnown = !isEnd && dwarf_lineno(row, &line) == 0 && dwarf_lineaddr(row, &address) == 0 && line > 0;
      if (!isKnown || !isMeant(dwarf_linesrc(row, nullptr, nullptr)) || !isCode(*lines_.image, address)) {
        goesOn = false;
        continue;
      }
      if (static_cast<uint32_t>(line) == line_ && isStatement) add(unit, address, goesOn);
      if (static_cast<uint32_t>(line) > line_ && (next_ == 0 || static_cast<uint32_t>(line) < next_)) next_ = line;
      goesOn = static_cast<uint32_t>(line) == line_;
    }
  }

  /// `goesOn`: the row before it is of the same line.
  void add(Dwarf_Die& unit, Dwarf_Addr address, bool goesOn) {
    if (places_.size() + loose_.size() >= LinePlaces::kMostOffsets) return;
    Dwarf_Die function;
    if (!lines_.functionIn(unit, address, function, 0)) {
      // It is of assembly, where no entry tells of functions.
      if (!goesOn) loose_.insert(address);
      return;
    }
    Dwarf_Die scope = function;
    Dwarf_Word best = 0;
    scopeOf(function, address, scope, best, 0);
    const Place place = {!isBesideEntry(function, address), address};
    const auto [at, isNew] = places_.try_emplace(dwarf_dieoffset(&scope), place);
    if (!isNew) at->second = std::min(at->second, place);
  }

  /// Finds which of a function and the calls that were inlined at an address the line is in: the one that begins last
  /// before it in the same file.
  void scopeOf(Dwarf_Die& entry, Dwarf_Addr address, Dwarf_Die& scope, Dwarf_Word& best, int depth) {
    const Dwarf_Word declared = declaredAt(entry);
    if (declared > 0 && declared <= line_ && declared >= best) {
      best = declared;
      scope = entry;
    }
    lines_.anyEntryOf(entry, depth, [&](Dwarf_Die& part) {
      const int tag = dwarf_tag(&part);
      if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) return false;
      if (dwarf_haspc(&part, address) <= 0) return false;
      scopeOf(part, address, scope, best, depth + 1);
      return true;
    });
  }

  /// The line of the source file at which a function is declared; 0 where it is in another file or nothing says so.
  Dwarf_Word declaredAt(Dwarf_Die& entry) const {
    Dwarf_Attribute attribute;
    Dwarf_Word line = 0;
    if (dwarf_tag(&entry) == DW_TAG_lexical_block) return 0;
    if (dwarf_formudata(dwarf_attr_integrate(&entry, DW_AT_decl_line, &attribute), &line) != 0) return 0;
    const char* file = dwarf_decl_file(&entry);
    return file != nullptr && endsIn(file, source_) ? line : 0;
  }

  /// Whether an address is in the part of a function that its entry is in.
  static bool isBesideEntry(Dwarf_Die& function, Dwarf_Addr address) {
    Dwarf_Addr entry = 0, base = 0, start = 0, end = 0;
    if (dwarf_entrypc(&function, &entry) != 0) return true;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(&function, at, &base, &start, &end)) > 0;)
      if (entry >= start && entry < end) return address >= start && address < end;
    return true;
  }

  LinePlaces result() const {
    LinePlaces found;
    std::set<Dwarf_Addr> addresses = loose_;
    for (const auto& [scope, place] : places_) addresses.insert(place.address);
    for (const Dwarf_Addr address : addresses) {
      uint64_t offset = 0;
      if (lines_.image->addressToOffset(address, offset)) found.offsets.push_back(offset);
    }
    std::ranges::sort(found.offsets);
    found.sources.assign(sources_.begin(), sources_.end());
    found.next = next_;
    return found;
  }

  DebugLines& lines_;
  const std::string& source_;
  uint32_t line_;
  uint32_t next_ = 0;
  size_t rowsLeft_ = kMaxRows;
  std::map<const char*, bool> meant_;  ///< of paths of a unit
  std::set<std::string> sources_;
  std::map<Dwarf_Off, Place> places_;  ///< by the function or the inlined call
  std::set<Dwarf_Addr> loose_;
};

}  // namespace

LinePlaces findLinePlaces(const LineFiles& files, const std::string& source, uint32_t line) {
  DebugLines lines;
  LinePlaces none;
  none.why = lines.open(files);
  if (none.why.empty() && !lines.hasEntries)
    none.why = "its debug information is in two files, and the one of dwz is missing";
  if (!none.why.empty()) return none;
  return Search(lines, source, line).run();
}

}  // namespace polytop
