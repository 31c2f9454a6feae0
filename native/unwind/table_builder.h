// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dwarf/dwarf_rule.h"
#include "elf/code_places.h"
#include "elf/elf_image.h"
#include "go/go_rows.h"
#include "unwind/depth_walk.h"
#include "unwind/eh_frame.h"
#include "unwind/row_writer.h"
#include "unwind/rule_set.h"
#include "unwind/unwind_table.h"

namespace polytop {

/// The entries of one section.
struct FrameSource {
  const FrameSection& section;
  FrameReader& reader;
};

/// Builds the rows of one file out of the entries that FrameReaders found.
class TableBuilder {
 public:
  /// `tellsBase`: see RuleFinder.
  TableBuilder(const ElfImage& image, RuleSet& rules, UnwindTable& table, bool tellsBase);

  /// Code with entries. What a source says of code goes before what later ones say of it.
  void build(std::span<const FrameSource> sources);

  /// What a Go program's own table says of code, none of which has entries that are read.
  void addGoRows(const GoRows& go);

  /// Whether the rules of what was built must tell the base.
  bool needsBase() const { return finder_.needsBase(); }

  /// Code without any entries.
  void buildWithoutEntries();

 private:
  struct PlacedRow {
    uint64_t offset;
    uint32_t rule;
    bool isStart;
  };
  /// An entry and the section that it is in.
  struct Entry {
    const FrameSource* source;
    const Fde* fde;
  };

  Entry entryAt(std::span<const FrameSource> sources, uint64_t word) const;
  std::vector<uint64_t> orderByOffset(std::span<const FrameSource> sources);
  void dropCovered(std::span<const FrameSource> sources, std::vector<uint64_t>& order) const;
  void addGoRow(const PlacedRow& row);
  void closeHole(uint64_t next);
  void addFunction(const Entry& entry, uint64_t end);
  void addRows(const Entry& entry, uint64_t end);
  void coverThreadStart(uint64_t begin);
  void warn(std::span<const FrameSource> sources, uint64_t outside);

  CodePlaces code_;
  Budget& budget_;
  FileRules rules_;
  RuleFinder finder_;
  UnwindTable& table_;
  RowWriter writer_;
  std::vector<PlacedRow> goRows_;
  size_t goNext_ = 0;
  uint64_t entryOffset_ = 0;
  uint64_t entryEnd_ = 0;
  bool isProgram_ = false;
  uint64_t covered_ = 0;  // file offset up to which rows have been written
  uint64_t malformed_ = 0;
};

}  // namespace polytop
