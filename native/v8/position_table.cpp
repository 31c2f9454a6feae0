// SPDX-License-Identifier: Apache-2.0
#include "v8/position_table.h"

#include <algorithm>

namespace polytop {

PositionTable::PositionTable(std::span<const uint8_t> table, bool isUnsigned) {
  VlqReader reader(table);
  int64_t offset = -1;
  uint64_t position = 0;
  while (reader.hasMore()) {
    int64_t distance = 0;
    if (isUnsigned) {
      distance = static_cast<int64_t>(reader.next() >> 2);
    } else {
      // What is no statement is told by a negative number.
      const int64_t number = reader.nextSigned();
      distance = number >= 0 ? number : -(number + 1);
    }
    if (distance > UINT32_MAX || offset + distance > UINT32_MAX || !reader.hasMore()) break;
    offset += distance;
    position += static_cast<uint64_t>(reader.nextSigned());
    if (offset >= 0) rows_.push_back({static_cast<uint32_t>(offset), position});
  }
  rows_.shrink_to_fit();
}

SourcePosition PositionTable::at(uint32_t offset) const {
  const auto behind =
      std::upper_bound(rows_.begin(), rows_.end(), offset, [](uint32_t it, const Row& row) { return it < row.offset; });
  return behind == rows_.begin() ? SourcePosition() : SourcePosition((behind - 1)->position);
}

}  // namespace polytop
