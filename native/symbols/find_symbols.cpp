// SPDX-License-Identifier: Apache-2.0
#include "symbols/find_symbols.h"

#include <memory>
#include <string>

#include "aot/aot_symbols.h"
#include "elf/lzma_section.h"
#include "go/go_functions.h"
#include "symbols/plt_stubs.h"
#include "symbols/symbol_table.h"

namespace polytop {

namespace {

constexpr uint64_t kMaxPackedDebugData = 32u << 20;

/// .gnu_debugdata: an ELF file of its own, packed with xz, that holds nothing but a symbol table.
void readDebugData(const ElfImage& image, const CodeRanges& code, SymbolList& list) {
  const Section* section = image.section(".gnu_debugdata");
  if (section == nullptr || section->size > kMaxPackedDebugData) return;
  const std::vector<uint8_t> bytes = decodeXz(image.content(*section));
  std::string error;
  const std::unique_ptr<ElfImage> inner = ElfImage::openMemory(bytes.data(), bytes.size(), error);
  if (!inner) return;
  const NamePlace place = readSymbols(*inner, SHT_SYMTAB, code, list.entries);
  if (list.entries.empty()) return;
  list.unpackedNames = inner->read(place.offset, place.size);
  list.names = {NameSource::kUnpacked, 0, 0, list.unpackedNames.size()};
}

}  // namespace

SymbolList findSymbols(const ElfImage& image, const ElfImage* debug) {
  SymbolList list;
  const CodeRanges code(image);
  list.names = readSymbols(image, SHT_SYMTAB, code, list.entries);
  // A program that kept its table has nothing more to learn from the files that were split off it.
  list.isWhole = !list.entries.empty();
  if (debug && list.entries.empty()) {
    list.names = readSymbols(*debug, SHT_SYMTAB, code, list.entries);
    list.names.source = NameSource::kDebugFile;
  }
  if (list.entries.empty()) readDebugData(image, code, list);
  if (list.entries.empty()) list.names = readGoFunctions(image, code, list.entries);
  nameAotMethods(image, debug, list);
  list.dynamicNames = readSymbols(image, SHT_DYNSYM, code, list.entries);
  addPltStubs(image, code, list.dynamicNames.size, list.entries);
  arrangeSymbols(list.entries, code);
  return list;
}

}  // namespace polytop
