// SPDX-License-Identifier: Apache-2.0
//
// Offsets as the compiler has them with the headers of CPython 3.9 to 3.14 (pycore_runtime.h, pystate.h,
// frameobject.h, pycore_frame.h, code.h, unicodeobject.h), equal in all patch releases that were looked at.
#include "python/python_layout.h"

#include <cstring>

namespace polytop {

namespace {

constexpr python_layout kFrameObjects = {
    .key = 584,
    .holder = 568,
    .thread_id = 176,
    .frame = 24,
    .cframe = 48,
    .cframe_frame = 0,
    .cframe_previous = 8,
    .previous = 24,
    .code = 32,
    .instruction = 104,
    .owner = 0,
    .is_entry = 0,
    .name = 112,
    .file = 104,
    .first_line = 40,
    .table = 120,
    .version = 0,
    .instructions = 0,
    .first_traceable = 0,
    .text_ascii = 48,
    .text = 72,
    .table_kind = PYTHON_LNOTAB,
};

constexpr python_layout kFrames = {
    .key = 592,
    .holder = 576,
    .thread_id = 152,
    .frame = 56,
    .cframe = 56,
    .cframe_frame = 8,
    .cframe_previous = 16,
    .previous = 48,
    .code = 32,
    .instruction = 56,
    .owner = 69,
    .is_entry = 68,
    .name = 128,
    .file = 112,
    .first_line = 72,
    .table = 136,
    .version = 0,
    .instructions = 184,
    .first_traceable = 168,
    .text_ascii = 48,
    .text = 72,
    .table_kind = PYTHON_LOCATIONS,
};

/// What 3.12 and later have in common.
python_layout stampedLayout(uint16_t key, uint16_t owner, uint16_t instructions) {
  python_layout layout = kFrames;
  layout.key = key;
  layout.holder = 0;
  layout.frame = 72;
  layout.previous = 8;
  layout.code = 0;
  layout.owner = owner;
  layout.first_line = 68;
  layout.version = 92;
  layout.instructions = instructions;
  layout.first_traceable = static_cast<uint16_t>(instructions - 16);
  layout.text_ascii = 40;
  layout.text = 56;
  return layout;
}

/// A word of _Py_DebugOffsets, and what it says.
struct Word {
  uint16_t at;  ///< offset in the struct, by minor version: 3.13, 3.14
  uint16_t at14;
  uint16_t python_layout::* field;
  uint16_t limit;  ///< bytes that are read of the struct that it leads into
};

constexpr Word kWords[] = {
    {184, 208, &python_layout::frame, PYTHON_STATE_BYTES},
    {192, 216, &python_layout::thread_id, PYTHON_STATE_BYTES},
    {232, 256, &python_layout::previous, PYTHON_FRAME_BYTES},
    {240, 264, &python_layout::code, PYTHON_FRAME_BYTES},
    {248, 272, &python_layout::instruction, PYTHON_FRAME_BYTES},
    {264, 288, &python_layout::owner, PYTHON_FRAME_BYTES},
    {280, 320, &python_layout::file, PYTHON_CODE_BYTES},
    {296, 336, &python_layout::name, PYTHON_CODE_BYTES},
    {304, 344, &python_layout::table, PYTHON_CODE_BYTES},
    {312, 352, &python_layout::first_line, PYTHON_CODE_BYTES},
    {344, 384, &python_layout::instructions, 256},
    {560, 640, &python_layout::text_ascii, 64},
};
constexpr size_t kVersionAt = 8;
constexpr size_t kFreeThreadedAt = 16;

}  // namespace

PythonVersion pythonVersion(int minor) {
  PythonVersion version;
  version.layout = minor <= 10 ? kFrameObjects : kFrames;
  switch (minor) {
    case 9:
      version.flags = PYTHON_FRAME_OBJECTS;
      break;
    case 10:
      version.flags = PYTHON_FRAME_OBJECTS | PYTHON_MARKS | PYTHON_UNITS;
      version.layout.instruction = 96;
      version.layout.table_kind = PYTHON_LINETABLE;
      break;
    case 11:
      version.flags = PYTHON_CFRAMES | PYTHON_IS_ENTRY;
      break;
    case 12:
      version.flags = PYTHON_CFRAMES | PYTHON_STAMPED;
      version.layout = stampedLayout(1544, 70, 192);
      version.layout.thread_id = 136;
      version.layout.frame = 56;
      version.layout.cframe_frame = 0;
      version.layout.cframe_previous = 8;
      break;
    case 13:
      version.flags = PYTHON_STAMPED;
      version.layout = stampedLayout(2160, 70, 200);
      break;
    default:
      version.flags = PYTHON_STAMPED;
      version.layout = stampedLayout(2336, 74, 208);
      break;
  }
  return version;
}

DebugOffsets readDebugOffsets(std::span<const uint8_t> runtime, uint32_t version, python_layout& layout) {
  static constexpr char kCookie[] = "xdebugpy";
  const auto word = [runtime](size_t at) {
    uint64_t value = 0;
    memcpy(&value, runtime.data() + at, sizeof value);
    return value;
  };
  if (runtime.size() < kDebugOffsetsBytes || memcmp(runtime.data(), kCookie, 8) != 0) return DebugOffsets::kUnknown;
  if (word(kVersionAt) != version) return DebugOffsets::kUnknown;
  if (word(kFreeThreadedAt) != 0) return DebugOffsets::kFreeThreaded;
  const bool isLater = (version >> 16 & 0xff) > 13;
  for (const Word& it : kWords) {
    const uint64_t offset = word(isLater ? it.at14 : it.at);
    if (offset >= it.limit) return DebugOffsets::kUnknown;
    layout.*it.field = static_cast<uint16_t>(offset);
  }
  return DebugOffsets::kFit;
}

}  // namespace polytop
