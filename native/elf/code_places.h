// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "elf/elf_image.h"

namespace polytop {

/// The code of an executable PT_LOAD, cut at the end of the file and at what a frame can say of offsets.
struct CodeRange {
  uint64_t address;
  uint64_t offset;
  uint64_t size;
};

/// The code of a file.
class CodePlaces {
 public:
  explicit CodePlaces(const ElfImage& image);

  const std::vector<CodeRange>& ranges() const { return ranges_; }
  /// The range that holds an address; null if that is no code of the file.
  const CodeRange* find(uint64_t address) const;

 private:
  std::vector<CodeRange> ranges_;
};

}  // namespace polytop
