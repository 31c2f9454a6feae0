// SPDX-License-Identifier: Apache-2.0
//
// Facts: System V gABI, chapter 4, "Symbol Table"; the notes of <sys/sdt.h>: "UserSpaceProbeImplementation" of
// SystemTap.
#include "probes/find_probes.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <tuple>

#include "elf/lzma_section.h"
#include "probes/symbol_versions.h"
#include "symbols/demangle.h"

namespace polytop {

namespace {

constexpr uint64_t kMaxSymbols = 2u << 20;
constexpr uint64_t kMaxNames = 128u << 20;
constexpr uint64_t kMaxPacked = 32u << 20;
constexpr uint64_t kMaxNotes = 4u << 20;
constexpr size_t kMaxSymbolName = 4096;
constexpr uint32_t kStaticProbeNote = 3;

/// What the linker writes behind a name in .symtab: `@@VERSION`, or `@VERSION` for an old one.
void splitVersion(ProbedFunction& function) {
  const size_t at = function.name.find('@', 1);
  if (at == std::string::npos) return;
  const size_t version = function.name.find_first_not_of('@', at);
  if (version == std::string::npos) return;
  function.isOld = function.name.compare(at, 2, "@@") != 0;
  function.version = function.name.substr(version);
  function.name.resize(at);
}

/// Adds the functions of a table of `file`; `code` is the image that their addresses are of.
void addFunctions(const ElfImage& file, uint32_t type, const ElfImage& code, std::vector<ProbedFunction>& into) {
  const auto table = std::ranges::find(file.sections(), type, &Section::type);
  if (table == file.sections().end() || table->entrySize != sizeof(Elf64_Sym) || table->link >= file.sections().size())
    return;
  const Section& strings = file.sections()[table->link];
  const std::vector<uint8_t> names = file.read(strings.offset, std::min(strings.size, kMaxNames));
  const std::vector<uint8_t> raw =
      file.read(table->offset, std::min<uint64_t>(table->size, kMaxSymbols * sizeof(Elf64_Sym)));
  file.budget().takeSteps(raw.size() / sizeof(Elf64_Sym));
  const SymbolVersions versions = type == SHT_DYNSYM ? SymbolVersions(file) : SymbolVersions();
  for (size_t at = 0; at + sizeof(Elf64_Sym) <= raw.size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    memcpy(&symbol, raw.data() + at, sizeof symbol);
    const auto kind = ELF64_ST_TYPE(symbol.st_info);
    uint64_t offset = 0;
    if ((kind != STT_FUNC && kind != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size())
      continue;
    if (!code.addressToOffset(symbol.st_value, offset)) continue;
    const char* start = reinterpret_cast<const char*>(names.data()) + symbol.st_name;
    ProbedFunction function;
    function.name.assign(start, strnlen(start, std::min(names.size() - symbol.st_name, kMaxSymbolName)));
    function.offset = offset;
    function.isChooser = kind == STT_GNU_IFUNC;
    splitVersion(function);
    if (function.version.empty()) versions.describe(at / sizeof symbol, function.version, function.isOld);
    if (!function.name.empty()) into.push_back(std::move(function));
  }
}

void addPacked(const ElfImage& image, std::vector<ProbedFunction>& into) {
  const Section* section = image.section(".gnu_debugdata");
  if (section == nullptr || section->size > kMaxPacked) return;
  const std::vector<uint8_t> bytes = decodeXz(image.content(*section));
  std::string why;
  const std::unique_ptr<ElfImage> inner = ElfImage::openMemory(bytes.data(), bytes.size(), why);
  if (inner) addFunctions(*inner, SHT_SYMTAB, image, into);
}

/// Reads one word of a note.
uint64_t wordAt(const std::vector<uint8_t>& bytes, size_t at) {
  uint64_t word = 0;
  memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

/// The text that begins at a place of a note and ends before `end`; the place moves behind it.
std::string textAt(const std::vector<uint8_t>& bytes, size_t& at, size_t end) {
  const size_t length = strnlen(reinterpret_cast<const char*>(bytes.data()) + at, end - at);
  std::string text(reinterpret_cast<const char*>(bytes.data()) + at, length);
  at = std::min(at + length + 1, end);
  return text;
}

/// One note: addresses of the probe, of .stapsdt.base as it was linked, and of the semaphore; then three texts.
void addProbe(const ElfImage& image, const std::vector<uint8_t>& notes, size_t at, size_t end,
              std::vector<StaticProbe>& into) {
  if (end - at < 24) return;
  const uint64_t address = wordAt(notes, at), base = wordAt(notes, at + 8), semaphore = wordAt(notes, at + 16);
  at += 24;
  StaticProbe probe;
  probe.provider = textAt(notes, at, end);
  probe.name = textAt(notes, at, end);
  // Where prelink moved the file, that section says by how much.
  const Section* moved = image.section(".stapsdt.base");
  const uint64_t shift = moved ? moved->address - base : 0;
  if (!image.addressToOffset(address + shift, probe.offset)) return;
  if (semaphore && !image.addressToOffset(semaphore + shift, probe.semaphore)) return;
  into.push_back(std::move(probe));
}

}  // namespace

FunctionList findFunctions(const ElfImage& image, const ElfImage* debug, bool isWritten) {
  FunctionList list;
  std::vector<ProbedFunction>& functions = list.functions;
  addFunctions(image, SHT_SYMTAB, image, functions);
  list.isWhole = !functions.empty();
  if (debug && functions.empty()) addFunctions(*debug, SHT_SYMTAB, image, functions);
  if (functions.empty()) addPacked(image, functions);
  addFunctions(image, SHT_DYNSYM, image, functions);
  // Not every table knows of versions: what one of them says comes first.
  const auto key = [](const ProbedFunction& it) { return std::tie(it.name, it.offset, it.version); };
  std::ranges::sort(functions, [&](const auto& a, const auto& b) { return key(b) < key(a); });
  const auto isSame = [](const ProbedFunction& first, const ProbedFunction& next) {
    return first.name == next.name && first.offset == next.offset &&
           (next.version.empty() || first.version == next.version);
  };
  const auto doubles = std::ranges::unique(functions, isSame);
  functions.erase(doubles.begin(), doubles.end());
  std::ranges::reverse(functions);
  if (isWritten) {
    for (ProbedFunction& function : functions) {
      function.written = demangle(function.name);
      function.parameters = parametersOf(function.name);
    }
  }
  return list;
}

std::vector<StaticProbe> findStaticProbes(const ElfImage& image) {
  std::vector<StaticProbe> probes;
  const Section* section = image.section(".note.stapsdt");
  if (section == nullptr) return probes;
  const std::vector<uint8_t> notes = image.read(section->offset, std::min(section->size, kMaxNotes));
  const auto padded = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note;
    memcpy(&note, notes.data() + at, sizeof note);
    const uint64_t content = at + sizeof note + padded(note.n_namesz), next = content + padded(note.n_descsz);
    if (next > notes.size()) break;
    if (note.n_type == kStaticProbeNote) addProbe(image, notes, content, content + note.n_descsz, probes);
    at = next;
  }
  return probes;
}

}  // namespace polytop
