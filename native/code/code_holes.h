// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "elf/elf_image.h"
#include "unwind/unwind_table.h"

namespace polytop {

/// Code at file offsets [offset, offset + size) that has no rows.
struct CodeHole {
  uint64_t offset;
  uint64_t size;
};

/// The rows of a table one by one, of all pages.
class RowCursor {
 public:
  explicit RowCursor(const UnwindTable& table) : table_(table) {}

  /// The rule for a file offset, which must not be below the one before; `end` is how far it holds.
  uint32_t ruleAt(uint64_t offset, uint64_t& end);

 private:
  const UnwindTable& table_;
  size_t page_ = 0;
  uint32_t row_ = 0;  ///< in the page
};

/**
 * What a file's table leaves out of its executable sections, or of its executable segments where it has no sections.
 * Padding between functions is no hole. The code at the entry point is one too, where no entry of a table describes it:
 * its length was guessed.
 */
std::vector<CodeHole> findHoles(const ElfImage& image, const UnwindTable& table);

}  // namespace polytop
