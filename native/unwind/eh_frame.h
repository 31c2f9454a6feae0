// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "dwarf/dwarf_cfa.h"

namespace polytop {

/// A Frame Description Entry: the unwind information of the code [address, address + size).
struct Fde {
  uint64_t address = 0;       ///< virtual address of the first byte of code
  uint64_t offset = 0;        ///< its file offset; for the reader of the entries to fill in
  uint32_t size = 0;          ///< bytes of code
  uint32_t cie = 0;           ///< index of its CIE
  uint32_t programBegin = 0;  ///< its CFA program, as offsets in the section
  uint32_t programEnd = 0;
};

/**
 * Reads the entries of .eh_frame or .debug_frame (LSB Core 10.6.1, DWARF 5 section 6.4.1).
 *
 * Malformed entries are left out and counted; a malformed length ends the walk, since nothing says where the
 * next entry starts. The time spent is linear in the size of the section, whatever is in it.
 */
class FrameReader {
 public:
  /// A bound on memory (64 MB). The most seen: 161 000 (libLLVM).
  static constexpr size_t kMaxFdes = 1 << 21;

  /// `section` must outlive the reader and be smaller than 4 GB.
  explicit FrameReader(const FrameSection& section);

  /// Reads all entries from the start of the section to its end.
  void readAll();
  /// Reads up to the first terminator, for a section whose end is not known.
  void readToTerminator();
  /// Reads the one FDE whose length field is at `offset`.
  void readOne(uint64_t offset);

  std::vector<Fde>& fdes() { return fdes_; }
  const Cie& cie(const Fde& fde) const { return cies_[fde.cie]; }
  /// Entries left out because they are malformed or of a kind that nobody writes.
  uint64_t skipped() const { return skipped_; }
  /// The section does not end where its entries say; what is behind was not read.
  bool cut() const { return cut_; }

 private:
  bool charge(uint64_t bytes);
  void walk(bool stopAtTerminator);
  bool readEntry(DwarfReader& reader, bool& terminator);
  bool readFde(DwarfReader& reader, uint64_t cieOffset);
  bool findCie(uint64_t offset, uint32_t& index);
  bool readCie(uint64_t offset, Cie& cie);
  bool readAugmentation(DwarfReader& reader, const char* augmentation, Cie& cie);

  const FrameSection& section_;
  std::vector<Fde> fdes_;
  std::vector<Cie> cies_;
  std::unordered_map<uint64_t, uint32_t> cieIndexes_;
  uint64_t lastCieOffset_ = ~0ULL;
  uint32_t lastCieIndex_ = 0;
  uint64_t skipped_ = 0;
  uint64_t budget_;
  bool cut_ = false;
};

}  // namespace polytop
