// SPDX-License-Identifier: Apache-2.0
#include "unwind/unwind_table.h"

#include <algorithm>
#include <memory>

#include "go/go_rows.h"
#include "unwind/eh_frame.h"
#include "unwind/table_builder.h"

namespace polytop {
namespace {

// The largest seen is 9 MB (libLLVM, 118 000 FDEs).
constexpr uint64_t kMaxFrameBytes = 64 << 20;
constexpr uint64_t kMaxHeaderBytes = 32 << 20;
// Code of smaller files, such as the C library, may have been called by code of other files that needs the base.
constexpr size_t kFewEntries = 8192;

bool loadSection(const ElfImage& image, const char* name, bool eh, FrameSection& into) {
  const Section* section = image.section(name);
  if (section == nullptr || section->size > kMaxFrameBytes) return false;
  into.bytes = image.content(*section);
  if (into.bytes.size() > kMaxFrameBytes) return false;
  into.address = section->address;
  into.eh = eh;
  return !into.bytes.empty();
}

// Reads what the binary search table of .eh_frame_hdr refers to (LSB Core 10.6.2), for files without section
// headers. The end of .eh_frame is not written anywhere there; the table needs none.
bool readByHeader(const ElfImage& image, FrameSection& section, std::unique_ptr<FrameReader>& reader) {
  for (const Segment& segment : image.segments()) {
    if (segment.type != PT_GNU_EH_FRAME || segment.fileSize > kMaxHeaderBytes) continue;
    const std::vector<uint8_t> header = image.read(segment.offset, segment.fileSize);
    DwarfReader head(header.data(), 0, header.size());
    const uint8_t version = head.fixed<uint8_t>();
    const uint8_t frameEncoding = head.fixed<uint8_t>();
    const uint8_t countEncoding = head.fixed<uint8_t>();
    const uint8_t tableEncoding = head.fixed<uint8_t>();
    const uint64_t frameAddress = head.encodedPointer(frameEncoding, segment.address, segment.address);
    if (version != 1 || head.failed()) return false;

    uint64_t offset = 0;
    if (!image.addressToOffset(frameAddress, offset)) return false;
    uint64_t end = offset;
    for (const Segment& load : image.segments()) {
      if (load.type == PT_LOAD && offset >= load.offset && offset - load.offset < load.fileSize) {
        end = load.offset + load.fileSize;
      }
    }
    if (end <= offset) return false;
    section.bytes = image.read(offset, std::min(end - offset, kMaxFrameBytes));
    section.address = frameAddress;
    section.eh = true;
    reader = std::make_unique<FrameReader>(section);

    if (countEncoding == pointer_encoding::kOmit || tableEncoding == pointer_encoding::kOmit) {
      reader->readToTerminator();
      return true;
    }
    const uint64_t count = head.encodedPointer(countEncoding, segment.address, segment.address);
    for (uint64_t i = 0; i < count && !head.atEnd(); i++) {
      head.encodedPointer(tableEncoding, segment.address, segment.address);
      const uint64_t address = head.encodedPointer(tableEncoding, segment.address, segment.address);
      if (!head.failed()) reader->readOne(address - frameAddress);
    }
    return true;
  }
  return false;
}

/// A section with its entries.
struct ReadSection {
  FrameSection section;
  std::unique_ptr<FrameReader> reader;

  bool hasEntries() const { return reader && !reader->fdes().empty(); }
};

void readSection(const ElfImage& image, const char* name, bool eh, ReadSection& into) {
  if (!loadSection(image, name, eh, into.section)) return;
  into.reader = std::make_unique<FrameReader>(into.section);
  into.reader->readAll();
}

UnwindTable buildRows(const ElfImage& image, RuleSet& rules, std::span<const FrameSource> sources, const GoRows& goRows,
                      const std::string& source) {
  size_t entries = 0;
  for (const FrameSource& it : sources) entries += it.reader.fdes().size();
  for (const bool tellsBase : {entries < kFewEntries, true}) {
    UnwindTable table;
    table.source = source;
    TableBuilder builder(image, rules, table, tellsBase);
    builder.addGoRows(goRows);
    builder.build(sources);
    if (tellsBase || !builder.needsBase()) return table;
  }
  return {};
}

}  // namespace

UnwindTable buildUnwindTable(const ElfImage& image, RuleSet& rules) {
  ReadSection first, debug;
  std::string name = ".eh_frame";
  readSection(image, ".eh_frame", true, first);
  if (!first.hasEntries()) {
    name = "PT_GNU_EH_FRAME";
    first.reader.reset();
    readByHeader(image, first.section, first.reader);
  }
  const GoRows goRows = readGoRows(image);
  // What Go's compiler writes into .debug_frame knows neither of frame pointers nor of other stacks.
  if (goRows.rows.empty()) readSection(image, ".debug_frame", false, debug);

  std::vector<FrameSource> sources;
  for (const ReadSection* read : {&first, &debug}) {
    if (read->hasEntries()) sources.push_back({read->section, *read->reader});
  }
  if (!sources.empty()) return buildRows(image, rules, sources, goRows, first.hasEntries() ? name : ".debug_frame");
  UnwindTable table;
  TableBuilder builder(image, rules, table, false);
  builder.addGoRows(goRows);
  builder.buildWithoutEntries();
  return table;
}

}  // namespace polytop
