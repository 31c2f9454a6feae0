// SPDX-License-Identifier: Apache-2.0
#include "go_functions.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace polytop {
namespace {

// Layout: runtime/symtab.go (pcHeader, functab, _func) of Go 1.18 to 1.25.
constexpr uint32_t kMagic118 = 0xfffffff0;
constexpr uint32_t kMagic120 = 0xfffffff1;
constexpr uint64_t kMaxTable = 512u << 20;
constexpr uint32_t kMaxFunctions = 4u << 20;
/// Where the kernel enters a program that Go's own linker made.
constexpr std::string_view kEntryFunction = "_rt0_amd64_linux";

struct Header {
  uint32_t magic;
  uint8_t zero[2];
  uint8_t instructionQuantum;
  uint8_t pointerSize;
  uint64_t functions;
  uint64_t files;
  uint64_t textStart;  ///< 0 where it is filled in when the program is loaded
  uint64_t names;      ///< this and the following: offsets in the table
  uint64_t units;
  uint64_t fileNames;
  uint64_t values;
  uint64_t functionTable;
};

/// Both are relative: to the start of the code, to the function table.
struct FunctionPlace {
  uint32_t entry;
  uint32_t description;
};

/// The first two fields of what is said of a function.
struct FunctionDescription {
  uint32_t entry;
  uint32_t name;
};

class Table {
 public:
  explicit Table(const std::vector<uint8_t>& bytes) : bytes_(bytes) { valid_ = get(0, header_) && isKnown(); }

  bool valid() const { return valid_; }
  const Header& header() const { return header_; }
  uint32_t size() const { return static_cast<uint32_t>(header_.functions); }

  /// The one at `index`; at size() there is one that says where the last function ends.
  bool place(uint32_t index, FunctionPlace& into) const {
    return get(header_.functionTable + uint64_t{index} * sizeof into, into);
  }

  bool description(const FunctionPlace& place, FunctionDescription& into) const {
    return get(header_.functionTable + place.description, into) && into.entry == place.entry;
  }

  bool isNamed(const FunctionDescription& function, std::string_view name) const {
    const uint64_t at = header_.names + function.name;
    return at < bytes_.size() && name.size() < bytes_.size() - at &&
           std::memcmp(bytes_.data() + at, name.data(), name.size()) == 0 && bytes_[at + name.size()] == 0;
  }

 private:
  bool isKnown() const {
    return (header_.magic == kMagic118 || header_.magic == kMagic120) && header_.pointerSize == 8 &&
           header_.functions > 0 && header_.functions < kMaxFunctions && header_.names < bytes_.size() &&
           header_.functionTable < bytes_.size();
  }

  template <typename T>
  bool get(uint64_t at, T& into) const {
    if (at > bytes_.size() || bytes_.size() - at < sizeof into) return false;
    std::memcpy(&into, bytes_.data() + at, sizeof into);
    return true;
  }

  const std::vector<uint8_t>& bytes_;
  Header header_ = {};
  bool valid_ = false;
};

const Section* findTable(const ElfImage& file) {
  const Section* section = file.section(".gopclntab");
  return section ? section : file.section(".data.rel.ro.gopclntab");
}

/**
 * Address of the code that the table speaks of, 0 if it is not known. Position-independent programs do not
 * say it: then it is the start of .text if the program begins at the function that must be there.
 */
uint64_t startOfCode(const ElfImage& file, const Table& table) {
  if (table.header().textStart != 0) return table.header().textStart;
  const Section* text = file.section(".text");
  if (!text) return 0;
  for (uint32_t i = 0; i < table.size(); i++) {
    FunctionPlace place = {};
    FunctionDescription function = {};
    if (!table.place(i, place) || text->address + place.entry != file.entry()) continue;
    return table.description(place, function) && table.isNamed(function, kEntryFunction) ? text->address : 0;
  }
  return 0;
}

}  // namespace

StringTable readGoFunctions(const ElfImage& file, int fd, const CodeRanges& code, std::vector<SymbolEntry>& into) {
  const Section* section = findTable(file);
  if (!section || section->size > kMaxTable) return {};
  const std::vector<uint8_t> bytes = file.content(*section);
  const Table table(bytes);
  if (!table.valid()) return {};
  const uint64_t start = startOfCode(file, table);
  if (start == 0) return {};
  for (uint32_t i = 0; i < table.size(); i++) {
    FunctionPlace place = {}, next = {};
    FunctionDescription function = {};
    if (!table.place(i, place) || !table.place(i + 1, next) || !table.description(place, function)) continue;
    uint32_t offset = 0;
    if (next.entry <= place.entry || function.name >= SymbolEntry::kDynamic) continue;
    if (!code.toOffset(start + place.entry, offset)) continue;
    const uint32_t size = std::min(next.entry - place.entry, SymbolEntry::kMaxSize);
    into.push_back({.start = offset, .bindingAndSize = size, .name = function.name});
  }
  return {fd, section->offset + table.header().names, bytes.size() - table.header().names};
}

}  // namespace polytop
