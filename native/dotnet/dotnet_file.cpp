// SPDX-License-Identifier: Apache-2.0
#include "dotnet/dotnet_file.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>
#include <vector>

#include "arch/arch.h"
#include "dotnet/contract_descriptor.h"
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
constexpr int kMaxTextSegments = 8;
/// No structure of the runtime is so long.
constexpr uint64_t kMaxOffset = 0x4000;
constexpr uint64_t kMaxVersionScan = 64 << 20;
constexpr uint32_t kOldest = 8, kNewest = *(std::end(kDotnetVersions) - 1);
/// Programs of a single file are without one up to here.
constexpr uint32_t kLastWithoutDescriptor = 10;
/// In place of a version that is none.
constexpr uint32_t kUnreadable = 1000;
constexpr uint32_t kLinearNibbles = 1, kConstantTimeNibbles = 2;
/// The version of the contracts of .NET 11 by which code, modules and types are found.
constexpr std::string_view kKnownContract = "\"c1\"";

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

/// The contract descriptor at an address of the headers; nothing if it cannot be read.
std::optional<ContractDescriptor> readDescriptor(const ElfImage& image, uint64_t address) {
  const std::vector<uint8_t> header = readAddress(image, address, 40);
  if (header.size() < 40 || memcmp(header.data(), "DNCCDAC", 8) != 0) return std::nullopt;
  const auto length = valueAt<uint32_t>(header, 12);
  if (length > kMaxDescriptor) return std::nullopt;
  const std::vector<uint8_t> text = readAddress(image, readPointer(image, address + 16), length);
  return ContractDescriptor::parse({text.begin(), text.end()});
}

/// The major version that a text starts with; kUnreadable where that is no number that a version can have.
uint32_t majorOf(std::string_view version) {
  const uint32_t major = numberAt(version).value_or(kUnreadable);
  return major > 0 && major < kUnreadable ? major : kUnreadable;
}

/// The major version in the image's version text, 0 if there is none.
uint32_t versionByText(const ElfImage& image) {
  int scansLeft = kMaxTextSegments;
  for (const Segment& segment : image.segments()) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) != 0 || scansLeft-- <= 0) continue;
    const std::vector<uint8_t> bytes = image.read(segment.offset, std::min(segment.fileSize, kMaxVersionScan));
    const uint8_t* found = findText(bytes, kVersionText);
    if (!found) continue;
    const std::string_view rest(reinterpret_cast<const char*>(found),
                                static_cast<size_t>(bytes.data() + bytes.size() - found));
    return majorOf(rest.substr(kVersionText.size()));
  }
  return 0;
}

/// The major version in DotNetRuntimeInfo (single-file programs), 0 if it does not say.
uint32_t versionByInfo(const ElfImage& image, uint64_t address) {
  const std::vector<uint8_t> info = readAddress(image, address, 112);
  if (info.size() < 112 || memcmp(info.data(), "DotNetRuntimeInfo", 18) != 0 || valueAt<uint32_t>(info, 20) < 2)
    return 0;
  return std::min(valueAt<uint32_t>(info, 96), kUnreadable);
}

/// The oldest version that has such a descriptor.
uint32_t oldestWith(const std::optional<ContractDescriptor>& descriptor) {
  if (!descriptor) return kOldest;
  return descriptor->namesContractsByWords() ? 11 : 9;
}

/// The version by its descriptor alone.
uint32_t versionByDescriptor(const std::optional<ContractDescriptor>& descriptor) {
  if (descriptor && !descriptor->productVersion().empty()) return majorOf(descriptor->productVersion());
  return descriptor && !descriptor->contract("ExecutionManager").empty() ? std::max(oldestWith(descriptor), 10U)
                                                                         : oldestWith(descriptor);
}

/// The layout of a version: one that was not measured is like the next that was, else like the last.
dotnet_facts layoutOf(uint32_t major) {
  dotnet_facts facts = {};
  const auto version =
      static_cast<size_t>(std::lower_bound(std::begin(kDotnetVersions), std::end(kDotnetVersions) - 1, major) -
                          std::begin(kDotnetVersions));
  for (const DotnetOffset& offset : kDotnetOffsets)
    if (offset.fact) facts.*offset.fact = offset.measured[version];
  facts.token_bits = kDotnetTokenRemainderBits;
  facts.nibble_map = major <= 9 ? kLinearNibbles : kConstantTimeNibbles;
  std::fill(std::begin(facts.stubs), std::end(facts.stubs), DOTNET_STUB_OTHER);
  // A later version may have numbered them anew, as 11 did.
  if (major > kNewest) return facts;
  for (const DotnetStubNumbers& kind : kDotnetStubs)
    if (kind.numbers[version] > 0) facts.stubs[kind.numbers[version]] = static_cast<uint8_t>(kind.stub);
  return facts;
}

void overlayDescriptor(const ContractDescriptor& descriptor, dotnet_facts& facts) {
  for (const DotnetOffset& offset : kDotnetOffsets) {
    const std::optional<uint32_t> value = descriptor.offset(offset.type, offset.field);
    if (offset.fact && value && *value < kMaxOffset) facts.*offset.fact = static_cast<uint16_t>(*value);
  }
}

std::string nameOf(std::string_view type, std::string_view field) {
  return std::string(type) + (field == "!" ? "'s size" : "." + std::string(field));
}

/// Why the layout of a runtime is in doubt, empty if it is not.
std::string whyInDoubt(uint32_t major, const ContractDescriptor& descriptor) {
  const bool isKnown = major <= kNewest;
  for (const auto& [type, field, place] : kDotnetEverywhere) {
    const std::optional<uint32_t> said = descriptor.offset(type, field);
    if (said && *said != place) return "its contract descriptor puts " + nameOf(type, field) + " elsewhere";
    if (!said && !isKnown) return "its contract descriptor does not tell " + nameOf(type, field);
  }
  if (isKnown) return {};
  for (const DotnetOffset& offset : kDotnetOffsets) {
    const std::optional<uint32_t> said = descriptor.offset(offset.type, offset.field);
    if (!said || *said >= kMaxOffset)
      return "its contract descriptor does not tell " + nameOf(offset.type, offset.field);
  }
  for (const std::string_view contract : {"ExecutionManager", "Loader", "RuntimeTypeSystem"})
    if (descriptor.contract(contract) != kKnownContract)
      return "its contract descriptor has another " + std::string(contract) + " than .NET " + std::to_string(kNewest);
  return {};
}

/// What a runtime says of itself.
struct Claims {
  uint32_t text = 0, info = 0;  ///< major versions; 0: it does not say
  bool hasDescriptor = false;
  std::optional<ContractDescriptor> descriptor;

  uint32_t major() const { return text ? text : info ? info : versionByDescriptor(descriptor); }
};

/// Why a runtime that says this cannot be read, empty if it can.
std::string whyUnreadable(const Claims& claims) {
  const uint32_t major = claims.major();
  const std::string name = ".NET " + std::to_string(major);
  if (major == kUnreadable) return "a .NET cannot be read, because its version is no number that one can have";
  if (major < kOldest) return name + " is not supported";
  const std::string because = name + " cannot be read, because ";
  if (claims.hasDescriptor && !claims.descriptor) return because + "its contract descriptor is damaged";
  if (claims.info && claims.info != major)
    return because + "DotNetRuntimeInfo says that it is " + std::to_string(claims.info);
  if (!claims.descriptor) return major > kLastWithoutDescriptor ? because + "it has no contract descriptor" : "";
  const std::string_view product = claims.descriptor->productVersion();
  if (major < oldestWith(claims.descriptor) || (!product.empty() && majorOf(product) != major))
    return because + "its contract descriptor is that of another version";
  const std::string doubt = whyInDoubt(major, *claims.descriptor);
  return doubt.empty() ? "" : because + doubt;
}

}  // namespace

std::optional<DotnetRuntime> findDotnetRuntime(const ElfImage& image) {
  const Exports exports = findExports(image);
  if (!exports.table) return std::nullopt;
  Claims claims;
  claims.text = versionByText(image);
  if (exports.info) claims.info = versionByInfo(image, exports.info);
  claims.hasDescriptor = exports.descriptor != 0;
  if (claims.hasDescriptor) claims.descriptor = readDescriptor(image, exports.descriptor);
  DotnetRuntime runtime;
  runtime.descriptor = claims.descriptor ? exports.descriptor : 0;
  runtime.major = claims.major();
  runtime.error = whyUnreadable(claims);
  runtime.facts = layoutOf(runtime.major);
  if (claims.descriptor) overlayDescriptor(*claims.descriptor, runtime.facts);
  runtime.facts.table = exports.table;
  for (const Segment& segment : image.segments()) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0) continue;
    runtime.facts.shift = segment.address - segment.offset;
    break;
  }
  return runtime;
}

}  // namespace polytop
