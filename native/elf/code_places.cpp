// SPDX-License-Identifier: Apache-2.0
#include "elf/code_places.h"

#include <algorithm>

#include "bpf/abi.h"

namespace polytop {
namespace {

// A program has one, seldom two or three; each entry is looked for in all of them.
constexpr size_t kMaxCodeRanges = 32;
// File offsets have 40 bits in a frame.
constexpr uint64_t kMaxOffset = 1ULL << FRAME_FILE_SHIFT;

}  // namespace

CodePlaces::CodePlaces(const ElfImage& image) {
  const uint64_t end = std::min(image.fileSize(), kMaxOffset);
  for (const Segment& segment : image.segments()) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0 || segment.offset >= end) continue;
    if (ranges_.size() >= kMaxCodeRanges) break;
    ranges_.push_back({segment.address, segment.offset, std::min(segment.fileSize, end - segment.offset)});
  }
}

const CodeRange* CodePlaces::find(uint64_t address) const {
  for (const CodeRange& range : ranges_) {
    if (address >= range.address && address - range.address < range.size) return &range;
  }
  return nullptr;
}

}  // namespace polytop
