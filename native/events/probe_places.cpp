// SPDX-License-Identifier: Apache-2.0
//
// Facts: System V gABI, chapter 4, "Symbol Table"; the notes of <sys/sdt.h>: "UserSpaceProbeImplementation" of
// SystemTap.
#include "events/probe_places.h"

#include <elf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <tuple>

#include "elf/debug_file.h"
#include "elf/elf_image.h"
#include "elf/lzma_section.h"
#include "events/symbol_versions.h"
#include "util/failure.h"

namespace polytop {

namespace {

constexpr uint64_t kMaxSymbols = 2u << 20;
constexpr uint64_t kMaxNames = 128u << 20;
constexpr uint64_t kMaxPacked = 32u << 20;
constexpr uint64_t kMaxNotes = 4u << 20;
constexpr size_t kMaxName = 4096;
constexpr uint32_t kStaticProbeNote = 3;

/// An open file and its image.
struct OpenedImage {
  FileDescriptor file;
  std::string root;  ///< of the process that the file was found by, "" for the machine's own
  std::unique_ptr<ElfImage> image;
};

/// `/proc/PID/root` at the beginning of a path: the root of a process, in which the rest is looked up.
std::string rootOf(const std::string& path) {
  constexpr std::string_view kProc = "/proc/", kRoot = "/root/";
  if (!path.starts_with(kProc)) return {};
  const size_t end = path.find_first_not_of("0123456789", kProc.size());
  if (end == std::string::npos || end == kProc.size() || path.compare(end, kRoot.size(), kRoot) != 0) return {};
  return path.substr(0, end + kRoot.size() - 1);
}

OpenedImage openImage(const std::string& path) {
  OpenedImage opened;
  opened.root = rootOf(path);
  opened.file = openUnderRoot(opened.root, path.substr(opened.root.size()));
  if (!opened.file.valid()) throw Failure("cannot read " + path, errno ? errno : EINVAL);
  std::string why;
  opened.image = ElfImage::open(opened.file.get(), why);
  if (!opened.image) throw Failure("cannot read " + path + ": " + why, ENOEXEC);
  return opened;
}

/// What the linker writes behind a name in .symtab: `@@VERSION`, or `@VERSION` for an old one.
void splitVersion(ProbedFunction& function) {
  const size_t at = function.name.find('@', 1);
  if (at == std::string::npos) return;
  function.isOld = function.name.compare(at, 2, "@@") != 0;
  function.version = function.name.substr(function.name.find_first_not_of('@', at));
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
    function.name.assign(start, strnlen(start, std::min(names.size() - symbol.st_name, kMaxName)));
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

std::vector<ProbedFunction> listFunctions(const std::string& path) {
  const OpenedImage opened = openImage(path);
  const ElfImage& image = *opened.image;
  std::vector<ProbedFunction> functions;
  try {
    addFunctions(image, SHT_SYMTAB, image, functions);
    if (functions.empty()) {
      const DebugFile debug = findDebugFile(opened.file.get(), image, opened.root);
      if (debug.image) addFunctions(*debug.image, SHT_SYMTAB, image, functions);
    }
    if (functions.empty()) addPacked(image, functions);
    addFunctions(image, SHT_DYNSYM, image, functions);
  } catch (const Overspent& reason) {
    throw Failure("cannot read " + path + ": " + reason.what(), E2BIG);
  }
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
  return functions;
}

LinePlaces listLinePlaces(const std::string& path, const std::string& source, uint32_t line) {
  const OpenedImage opened = openImage(path);
  return findLinePlaces(opened.file, opened.root, source, line);
}

NeededFiles listNeededFiles(const std::string& path) {
  const OpenedImage opened = openImage(path);
  try {
    return readNeededFiles(*opened.image);
  } catch (const Overspent& reason) {
    throw Failure("cannot read " + path + ": " + reason.what(), E2BIG);
  }
}

std::vector<StaticProbe> listStaticProbes(const std::string& path) {
  const OpenedImage opened = openImage(path);
  const ElfImage& image = *opened.image;
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
