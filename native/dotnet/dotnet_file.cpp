// SPDX-License-Identifier: Apache-2.0
#include "dotnet/dotnet_file.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <string_view>
#include <vector>

#include "arch/arch.h"
#include "dotnet_layouts.h"
#include "util/bytes.h"

namespace polytop {

namespace {

constexpr std::string_view kTableSymbol = "g_dacTable";
constexpr std::string_view kDescriptorSymbol = "DotNetRuntimeContractDescriptor";
constexpr std::string_view kInfoSymbol = "DotNetRuntimeInfo";
/// What the version resource of native .NET binaries is on Linux, e.g. "@(#)Version 8.0.2926.32403 @Commit: …".
constexpr std::string_view kVersionText = "@(#)Version ";

constexpr uint64_t kMaxSymbols = 1 << 20;
constexpr uint64_t kMaxStrings = 16 << 20;
constexpr uint64_t kMaxDescriptor = 1 << 20;
constexpr uint64_t kMaxRelocations = 64 << 20;
/// The symbols that are looked for have shorter names.
constexpr size_t kMaxName = 64;
/// So many segments are looked at for a version: a program has three or four.
constexpr int kMaxScanned = 8;
/// No structure of the runtime is so long.
constexpr uint64_t kMaxOffset = 0x4000;
constexpr uint64_t kMaxVersionScan = 64 << 20;
constexpr uint32_t kOldest = 8, kLinearNibbles = 1, kConstantTimeNibbles = 2;

struct Exports {
  uint64_t table = 0, descriptor = 0, info = 0;
};

/// Where the tables of dynamic symbols and of their names are in the file.
struct DynamicSymbols {
  uint64_t symbols = 0, symbolBytes = 0;
  uint64_t strings = 0, stringBytes = 0;
};

/// By the section headers, else by PT_DYNAMIC, where the names follow the symbols as every linker writes them.
DynamicSymbols findDynamicSymbols(const ElfImage& image) {
  const Section* symbols = image.section(".dynsym");
  const Section* strings = image.section(".dynstr");
  if (symbols && strings) return {symbols->offset, symbols->size, strings->offset, strings->size};
  for (const Segment& segment : image.segments()) {
    if (segment.type != PT_DYNAMIC) continue;
    const std::vector<uint8_t> dynamic = image.read(segment.offset, std::min<uint64_t>(segment.fileSize, 65536));
    uint64_t symbolAddress = 0, stringAddress = 0, stringSize = 0, symbolOffset = 0, stringOffset = 0;
    for (size_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.size(); at += sizeof(Elf64_Dyn)) {
      const auto entry = valueAt<Elf64_Dyn>(dynamic, at);
      if (entry.d_tag == DT_SYMTAB) symbolAddress = entry.d_un.d_ptr;
      if (entry.d_tag == DT_STRTAB) stringAddress = entry.d_un.d_ptr;
      if (entry.d_tag == DT_STRSZ) stringSize = entry.d_un.d_val;
    }
    if (!image.addressToOffset(symbolAddress, symbolOffset) || !image.addressToOffset(stringAddress, stringOffset) ||
        stringOffset <= symbolOffset)
      continue;
    return {symbolOffset, stringOffset - symbolOffset, stringOffset, stringSize};
  }
  return {};
}

Exports findExports(const ElfImage& image) {
  Exports exports;
  const DynamicSymbols tables = findDynamicSymbols(image);
  const std::vector<uint8_t>& strings = image.kept(tables.strings, std::min(tables.stringBytes, kMaxStrings));
  // Most files hold no runtime: their symbols are not read.
  if (!findText(strings, kTableSymbol)) return exports;
  const auto symbols = image.read(tables.symbols, std::min(tables.symbolBytes, kMaxSymbols * sizeof(Elf64_Sym)));
  for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
    const auto symbol = valueAt<Elf64_Sym>(symbols, at);
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= strings.size()) continue;
    const char* start = reinterpret_cast<const char*>(strings.data()) + symbol.st_name;
    const std::string_view name(start, strnlen(start, std::min(strings.size() - symbol.st_name, kMaxName)));
    if (name == kTableSymbol) exports.table = symbol.st_value;
    if (name == kDescriptorSymbol) exports.descriptor = symbol.st_value;
    if (name == kInfoSymbol) exports.info = symbol.st_value;
  }
  return exports;
}

std::vector<uint8_t> readAddress(const ElfImage& image, uint64_t address, uint64_t size) {
  uint64_t offset = 0;
  return image.addressToOffset(address, offset) ? image.read(offset, size) : std::vector<uint8_t>{};
}

/// The pointer at an address of the headers, as the dynamic linker will set it.
uint64_t readPointer(const ElfImage& image, uint64_t address) {
  const auto inPlace = valueAt<uint64_t>(readAddress(image, address, 8), 0);
  if (inPlace) return inPlace;
  const Section* section = image.section(".rela.dyn");
  if (!section || section->size > kMaxRelocations) return 0;
  const std::vector<uint8_t> relocations = image.read(section->offset, section->size);
  for (size_t at = 0; at + sizeof(Elf64_Rela) <= relocations.size(); at += sizeof(Elf64_Rela)) {
    const auto relocation = valueAt<Elf64_Rela>(relocations, at);
    if (relocation.r_offset == address && ELF64_R_TYPE(relocation.r_info) == arch::kRelativeRelocation)
      return static_cast<uint64_t>(relocation.r_addend);
  }
  return 0;
}

/// The JSON of the contract descriptor; empty if there is none or it cannot be read.
std::string readDescriptor(const ElfImage& image, uint64_t address) {
  const std::vector<uint8_t> header = readAddress(image, address, 40);
  if (header.size() < 40 || memcmp(header.data(), "DNCCDAC", 8) != 0) return {};
  const auto length = valueAt<uint32_t>(header, 12);
  if (length > kMaxDescriptor) return {};
  const std::vector<uint8_t> text = readAddress(image, readPointer(image, address + 16), length);
  return {text.begin(), text.end()};
}

/// The number behind `"key":` or `"key":[`, the first after `from`; nothing if it does not follow before `}`.
std::optional<uint64_t> numberOf(std::string_view json, size_t from, std::string_view key) {
  const std::string quoted = "\"" + std::string(key) + "\":";
  const size_t end = json.find('}', from);
  size_t at = json.find(quoted, from);
  if (at == std::string_view::npos || at > end) return std::nullopt;
  at += quoted.size();
  if (at < json.size() && json[at] == '[') at++;
  uint64_t value = 0;
  const auto [stopped, error] = std::from_chars(json.data() + at, json.data() + json.size(), value);
  return error == std::errc() && stopped != json.data() + at ? std::optional(value) : std::nullopt;
}

/// The number of a field of a type or contract group: `"group":{…"key":number…}` without objects inside.
std::optional<uint64_t> fieldOf(std::string_view json, std::string_view group, std::string_view key) {
  const size_t at = json.find("\"" + std::string(group) + "\":{");
  return at == std::string_view::npos ? std::nullopt : numberOf(json, at, key);
}

/// The major version in the image's version text, 0 if there is none.
uint32_t versionByText(const ElfImage& image) {
  int scansLeft = kMaxScanned;
  for (const Segment& segment : image.segments()) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) != 0 || scansLeft-- <= 0) continue;
    const std::vector<uint8_t> bytes = image.read(segment.offset, std::min(segment.fileSize, kMaxVersionScan));
    const uint8_t* found = findText(bytes, kVersionText);
    if (!found) continue;
    const char* text = reinterpret_cast<const char*>(found) + kVersionText.size();
    uint32_t major = 0;
    std::from_chars(text, reinterpret_cast<const char*>(bytes.data() + bytes.size()), major);
    if (major) return major;
  }
  return 0;
}

/// The major version in DotNetRuntimeInfo (single-file programs), 0 if it does not say.
uint32_t versionByInfo(const ElfImage& image, uint64_t address) {
  const std::vector<uint8_t> info = readAddress(image, address, 112);
  if (info.size() < 112 || memcmp(info.data(), "DotNetRuntimeInfo", 18) != 0 || valueAt<uint32_t>(info, 20) < 2)
    return 0;
  return valueAt<uint32_t>(info, 96);
}

/// The layout of a version: one that was not measured is like the next that was, else like the last.
dotnet_facts layoutOf(uint32_t major) {
  dotnet_facts facts = {};
  const uint32_t* version = std::lower_bound(std::begin(kDotnetVersions), std::end(kDotnetVersions) - 1, major);
  for (const DotnetOffset& offset : kDotnetOffsets)
    facts.*offset.fact = offset.measured[version - std::begin(kDotnetVersions)];
  facts.token_bits = kDotnetTokenRemainderBits;
  facts.nibble_map = major <= 9 ? kLinearNibbles : kConstantTimeNibbles;
  return facts;
}

void overlayDescriptor(std::string_view json, dotnet_facts& facts) {
  for (const DotnetOffset& offset : kDotnetOffsets) {
    const std::optional<uint64_t> value = fieldOf(json, offset.type, offset.field);
    if (value && *value < kMaxOffset) facts.*offset.fact = static_cast<uint16_t>(*value);
  }
  if (const auto version = fieldOf(json, "contracts", "ExecutionManager"))
    facts.nibble_map = *version >= 2 ? kConstantTimeNibbles : kLinearNibbles;
}

}  // namespace

std::optional<DotnetRuntime> findDotnetRuntime(const ElfImage& image) {
  const Exports exports = findExports(image);
  if (!exports.table) return std::nullopt;
  DotnetRuntime runtime;
  const std::string json = exports.descriptor ? readDescriptor(image, exports.descriptor) : "";
  runtime.descriptor = json.empty() ? 0 : exports.descriptor;
  runtime.major = versionByText(image);
  if (!runtime.major && exports.info) runtime.major = versionByInfo(image, exports.info);
  if (!runtime.major) runtime.major = fieldOf(json, "contracts", "ExecutionManager") ? 10 : json.empty() ? 8 : 9;
  // Later versions describe themselves; what does not fit is found at the first method that is met.
  if (runtime.major < kOldest || (runtime.major > 10 && json.empty()))
    runtime.error = ".NET " + std::to_string(runtime.major) + " is not supported";
  runtime.facts = layoutOf(runtime.major);
  overlayDescriptor(json, runtime.facts);
  runtime.facts.table = exports.table;
  for (const Segment& segment : image.segments()) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0) continue;
    runtime.facts.shift = segment.address - segment.offset;
    break;
  }
  return runtime;
}

}  // namespace polytop
