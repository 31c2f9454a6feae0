// SPDX-License-Identifier: Apache-2.0
//
// Tables of lines of a Python program, and what an interpreter says of its own layout.
#include <algorithm>
#include <vector>

#include "harness.h"
#include "python/debug_offsets.h"
#include "python/python_layout.h"
#include "python/python_table.h"

namespace polytop::fuzz {

namespace {

constexpr uint32_t kLatestLine = 0x7fffffff;

void tryTable(python_table kind, Input input) {
  uint32_t firstLine = 0;
  const size_t known = std::min(sizeof firstLine, input.size());
  std::copy_n(input.begin(), known, reinterpret_cast<uint8_t*>(&firstLine));
  const PythonTable table(kind, firstLine, input.subspan(known));
  for (uint32_t offset = 0; offset < 4 * input.size() + 64; offset += 2)
    mustHold(table.lineOf(offset) <= kLatestLine, "a line is a line");
  mustHold(table.bytes() <= 256 + 64 * input.size(), "a table is no longer than its bytes allow");
}

void tryOffsets(Input input) {
  for (int minor = kOldestPython; minor <= kLatestPython + 1; minor++) {
    const uint32_t version = 0x030000f0 | static_cast<uint32_t>(minor) << 16;
    python_layout layout = pythonVersion(std::min(minor, kLatestPython)).layout;
    if (readDebugOffsets(input, version, layout) != DebugOffsets::kFit) continue;
    mustHold(layout.thread_id < PYTHON_STATE_BYTES && layout.instruction < PYTHON_FRAME_BYTES &&
                 layout.table < PYTHON_CODE_BYTES && layout.text_ascii < PYTHON_TEXT_BYTES,
             "offsets are in what is read");
  }
}

}  // namespace

/// The first byte says what it is.
void tryPython(Input input) {
  if (input.empty()) return;
  const std::vector<uint8_t> bytes(input.begin() + 1, input.end());
  switch (input[0] % 4) {
    case 0:
      return tryTable(PYTHON_LNOTAB, bytes);
    case 1:
      return tryTable(PYTHON_LINETABLE, bytes);
    case 2:
      return tryTable(PYTHON_LOCATIONS, bytes);
    default:
      return tryOffsets(bytes);
  }
}

}  // namespace polytop::fuzz
