// SPDX-License-Identifier: Apache-2.0
#include "symbols/line_table.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

namespace polytop {
namespace {

constexpr uint64_t kMaxDebugBytes = 256u << 20;
/// Entries that are looked at for one request: some 100 ms. What is beyond has the line of its innermost code.
constexpr size_t kMaxEntries = 2'000'000;
constexpr int kMaxNesting = 64;

/// What reading a section takes, at its full size where it is compressed.
uint64_t fullSize(const ElfImage& image, const Section& section) {
  Elf64_Chdr header;
  if (!(section.flags & SHF_COMPRESSED)) return section.size;
  const std::vector<uint8_t> bytes = image.read(section.offset, sizeof header);
  if (bytes.size() < sizeof header) return section.size;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.ch_size;
}

/// What reading the debug information would take; more than `kMaxDebugBytes` counts as one more.
uint64_t debugBytes(const ElfImage& image) {
  uint64_t sum = 0;
  for (const Section& section : image.sections()) {
    if (!section.name.starts_with(".debug_")) continue;
    const uint64_t size = fullSize(image, section);
    if (size > kMaxDebugBytes - sum) return kMaxDebugBytes + 1;
    sum += size;
  }
  return sum;
}

bool hasLines(const ElfImage& image) { return image.section(".debug_line") != nullptr; }

/// libdw 0.188 takes the strings of a line table to their terminator, wherever that is: there has to be one.
bool stringsEnd(const ElfImage& image) {
  for (const std::string_view name : {".debug_str", ".debug_line_str"}) {
    const Section* section = image.section(name);
    if (section != nullptr && section->size > 0 && image.lastByte(*section) != 0) return false;
  }
  return true;
}

/// Whether libdw may read it; else `why` says why not. The old way to compress has no checked size.
bool isSound(const ElfImage& image, std::string& why) {
  const bool isOld = std::any_of(image.sections().begin(), image.sections().end(),
                                 [](const Section& section) { return section.name.starts_with(".zdebug_"); });
  if (debugBytes(image) > kMaxDebugBytes) {
    why = "its debug information is larger than 256 MB";
  } else if (isOld || !stringsEnd(image)) {
    why = "its debug information is damaged, or compressed as before 2016";
  }
  return why.empty();
}

/// Closes in the order that libdw asks for.
struct DwarfFile {
  Elf* elf = nullptr;
  Dwarf* dwarf = nullptr;

  DwarfFile() = default;
  DwarfFile(const DwarfFile&) = delete;
  DwarfFile& operator=(const DwarfFile&) = delete;
  ~DwarfFile() {
    if (dwarf) dwarf_end(dwarf);
    if (elf) elf_end(elf);
  }

  bool open(int fd) {
    elf_version(EV_CURRENT);
    elf = elf_begin(fd, ELF_C_READ, nullptr);
    dwarf = elf ? dwarf_begin_elf(elf, DWARF_C_READ, nullptr) : nullptr;
    return dwarf != nullptr;
  }
};

bool holdsScopes(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_module;
}

}  // namespace

struct LineTables::Table {
  file_key key = {};
  std::string why;
  FileDescriptor file;       ///< what `dwarf` reads from, where that is not the file of a request
  FileDescriptor otherFile;  ///< what `other` reads from
  DwarfFile other;           ///< what dwz moved out of several debug files into one; ends after `dwarf`
  DwarfFile dwarf;
  std::unique_ptr<ElfImage> image;
  /// Entries can be read: none of them refers to a file that is not there.
  bool hasEntries = true;
  size_t entriesLeft = 0;

  void open(const LineRequest& request);
  void findOther(const std::string& root);
  void find(const LineRequest& request, FoundLines& found);
  bool unitOf(Dwarf_Addr address, Dwarf_Die& unit) const;
  template <typename Test>
  bool anyEntryOf(Dwarf_Die& scope, int depth, Test test);
  bool functionIn(Dwarf_Die& scope, Dwarf_Addr address, Dwarf_Die& function, int depth);
  bool inlinedIn(Dwarf_Die& scope, Dwarf_Addr address, Dwarf_Die& call, int depth);
  const char* lineOf(Dwarf_Addr address, int& line);
};

void LineTables::Table::open(const LineRequest& request) {
  key = request.key;
  file = request.file.duplicate();
  image = ElfImage::open(file.get(), why);
  if (!image) return;
  const std::string root = request.root.valid() ? "/proc/self/fd/" + std::to_string(request.root.get()) : "";
  std::string foundIn = root;
  std::unique_ptr<ElfImage> separate;
  if (!hasLines(*image)) {
    DebugFile debug = findDebugFile(file.get(), *image, root);
    if (!debug.image || !hasLines(*debug.image)) {
      const std::string id = image->buildId();
      why = "it has no line table: install its debug package" + (id.empty() ? "" : ", build id " + id);
      return;
    }
    separate = std::move(debug.image);
    file = std::move(debug.file);
    foundIn = debug.root;
  }
  if (!isSound(separate ? *separate : *image, why)) return;
  if (!dwarf.open(file.get())) {
    why = std::string("its debug information cannot be read: ") + dwarf_errmsg(-1);
    return;
  }
  findOther(foundIn);
}

/// The second debug file that dwz made, by its build-id. libdw would open whatever path the file names.
void LineTables::Table::findOther(const std::string& root) {
  const char* name = nullptr;
  const void* id = nullptr;
  const ssize_t size = dwelf_dwarf_gnu_debugaltlink(dwarf.dwarf, &name, &id);
  if (size <= 0) return;
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (ssize_t i = 0; i < size; i++) {
    const uint8_t byte = static_cast<const uint8_t*>(id)[i];
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  if (hex.size() > 2)
    otherFile = openUnderRoot(root, "/usr/lib/debug/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".debug");
  std::string error;
  const std::unique_ptr<ElfImage> found = otherFile.valid() ? ElfImage::open(otherFile.get(), error) : nullptr;
  hasEntries = found && found->buildId() == hex && isSound(*found, error) && other.open(otherFile.get());
  // Its own file is no second one: entries are not read then, and libdw has no reason to look for it.
  dwarf_setalt(dwarf.dwarf, hasEntries ? other.dwarf : dwarf.dwarf);
}

bool LineTables::Table::unitOf(Dwarf_Addr address, Dwarf_Die& unit) const {
  if (dwarf_addrdie(dwarf.dwarf, address, &unit)) return true;
  // Not every compiler writes .debug_aranges.
  Dwarf_CU* cu = nullptr;
  Dwarf_Die skeleton;
  uint8_t type = 0;
  while (dwarf_get_units(dwarf.dwarf, cu, &cu, nullptr, &type, &unit, &skeleton) == 0) {
    if (type == DW_UT_skeleton) unit = skeleton;
    if (dwarf_haspc(&unit, address) > 0) return true;
  }
  return false;
}

/// Whether a test holds for one of the entries just below a scope, as far as the depth and their number allow.
template <typename Test>
bool LineTables::Table::anyEntryOf(Dwarf_Die& scope, int depth, Test test) {
  Dwarf_Die entry;
  if (depth > kMaxNesting || dwarf_child(&scope, &entry) != 0) return false;
  do {
    if (entriesLeft == 0) return false;
    entriesLeft--;
    if (test(entry)) return true;
  } while (dwarf_siblingof(&entry, &entry) == 0);
  return false;
}

/// The function with code at an address, by the entries below a scope.
bool LineTables::Table::functionIn(Dwarf_Die& scope, Dwarf_Addr address, Dwarf_Die& function, int depth) {
  return anyEntryOf(scope, depth, [&](Dwarf_Die& entry) {
    const int tag = dwarf_tag(&entry);
    if (tag != DW_TAG_subprogram || dwarf_haspc(&entry, address) <= 0)
      return holdsScopes(tag) && functionIn(entry, address, function, depth + 1);
    function = entry;
    return true;
  });
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

void LineTables::Table::find(const LineRequest& request, FoundLines& found) {
  entriesLeft = kMaxEntries;
  std::map<std::string, uint32_t, std::less<>> indexes;
  for (const uint64_t offset : request.offsets) {
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

void LineTables::forget() {
  std::lock_guard lock(mutex_);
  table_.reset();
}

FoundLines LineTables::find(const LineRequest& request) {
  std::lock_guard lock(mutex_);
  if (!request.file.valid()) {
    table_.reset();
    return {{}, {}, "its file cannot be read any more"};
  }
  if (!table_ || std::memcmp(&table_->key, &request.key, sizeof request.key) != 0) {
    table_.reset();
    table_ = std::make_unique<Table>();
    table_->open(request);
  }
  FoundLines found;
  found.files.emplace_back();
  found.why = table_->why;
  if (found.why.empty()) table_->find(request, found);
  return found;
}

}  // namespace polytop
