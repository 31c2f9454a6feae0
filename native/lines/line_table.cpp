// SPDX-License-Identifier: Apache-2.0
#include "lines/line_table.h"

#include <dwarf.h>

#include <map>

#include "lines/debug_lines.h"

namespace polytop {
namespace {

/// Entries that are looked at for one request: some 100 ms. What is beyond has the line of its innermost code.
constexpr size_t kMaxEntriesAsked = 2'000'000;

}  // namespace

struct LineTables::Table : DebugLines {
  uint64_t number = 0;  ///< LineQuery::file
  std::string why;

  void find(const LineQuery& query, FoundLines& found);
  bool unitOf(Dwarf_Addr address, Dwarf_Die& unit) const;
  bool inlinedIn(Dwarf_Die& scope, Dwarf_Addr address, Dwarf_Die& call, int depth);
  const char* lineOf(Dwarf_Addr address, int& line);
};

bool LineTables::Table::unitOf(Dwarf_Addr address, Dwarf_Die& unit) const {
  if (dwarf_addrdie(dwarf.dwarf, address, &unit)) return true;
  // Not every compiler writes .debug_aranges.
  // A unit whose entries are in a file of their own (.dwo) has its lines here all the same; libdw would look for it.
  Dwarf_CU* cu = nullptr;
  while (dwarf_get_units(dwarf.dwarf, cu, &cu, nullptr, nullptr, &unit, nullptr) == 0) {
    if (dwarf_haspc(&unit, address) > 0) return true;
  }
  return false;
}

/// The outermost call that was inlined at an address of a function.
bool LineTables::Table::inlinedIn(Dwarf_Die& scope, Dwarf_Addr address, Dwarf_Die& call, int depth) {
  return anyEntryOf(scope, depth, [&](Dwarf_Die& entry) {
    const int tag = dwarf_tag(&entry);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) return false;
    if (dwarf_haspc(&entry, address) <= 0) return false;
    if (tag == DW_TAG_lexical_block) return inlinedIn(entry, address, call, depth + 1);
    call = entry;
    return true;
  });
}

/// The file and line of an address; null if it is not known.
const char* LineTables::Table::lineOf(Dwarf_Addr address, int& line) {
  Dwarf_Die unit;
  if (!unitOf(address, unit)) return nullptr;
  Dwarf_Die function;
  Dwarf_Die call;
  if (hasEntries && functionIn(unit, address, function, 0) && inlinedIn(function, address, call, 0)) {
    Dwarf_Attribute attribute;
    Dwarf_Word callFile = 0;
    Dwarf_Word callLine = 0;
    Dwarf_Files* files = nullptr;
    size_t count = 0;
    if (dwarf_formudata(dwarf_attr(&call, DW_AT_call_file, &attribute), &callFile) == 0 &&
        dwarf_formudata(dwarf_attr(&call, DW_AT_call_line, &attribute), &callLine) == 0 &&
        dwarf_getsrcfiles(&unit, &files, &count) == 0 && callFile < count) {
      line = static_cast<int>(callLine);
      return dwarf_filesrc(files, callFile, nullptr, nullptr);
    }
  }
  Dwarf_Line* found = dwarf_getsrc_die(&unit, address);
  if (!found || dwarf_lineno(found, &line) != 0) return nullptr;
  return dwarf_linesrc(found, nullptr, nullptr);
}

void LineTables::Table::find(const LineQuery& query, FoundLines& found) {
  entriesLeft = kMaxEntriesAsked;
  std::map<std::string, uint32_t, std::less<>> indexes;
  for (const uint64_t offset : query.offsets) {
    uint64_t address = 0;
    int line = 0;
    const char* source = image->offsetToAddress(offset, address) ? lineOf(address, line) : nullptr;
    if (!source || line <= 0) {
      found.lines.insert(found.lines.end(), {0, 0});
      continue;
    }
    const auto [at, isNew] = indexes.try_emplace(source, static_cast<uint32_t>(found.files.size()));
    if (isNew) found.files.emplace_back(source);
    found.lines.insert(found.lines.end(), {at->second, static_cast<uint32_t>(line)});
  }
}

LineTables::LineTables() = default;
LineTables::~LineTables() = default;

FoundLines LineTables::find(const LineQuery& query, const LineFiles& files) {
  if (!table_ || table_->number != query.file) {
    table_.reset();
    auto opened = std::make_unique<Table>();
    opened->number = query.file;
    opened->why = opened->open(files);
    table_ = std::move(opened);
  }
  FoundLines found;
  found.files.emplace_back();
  found.why = table_->why;
  if (found.why.empty()) table_->find(query, found);
  return found;
}

}  // namespace polytop
