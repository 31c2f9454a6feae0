// SPDX-License-Identifier: Apache-2.0
//
// Offsets as the compiler has them with the headers of CPython 3.9 to 3.15 (pycore_runtime.h, pystate.h,
// frameobject.h, pycore_frame.h, code.h, unicodeobject.h), equal in all patch releases that were looked at.
#include "python/python_layout.h"

namespace polytop {

namespace {

constexpr python_layout kFrameObjects = {
    .key = 584,
    .holder = 568,
    .interpreters = 32,
    .next_interpreter = 0,
    .threads = 8,
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
    .copies = 0,
    .copy_index = 0,
    .object_type = 8,
    .object_size = 16,
    .bytes = 32,
    .text_length = 16,
    .text_state = 32,
    .text_ascii = 48,
    .text = 72,
    .table_kind = PYTHON_LNOTAB,
};

constexpr python_layout kFrames = {
    .key = 592,
    .holder = 576,
    .interpreters = 40,
    .next_interpreter = 0,
    .threads = 16,
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
    .copies = 0,
    .copy_index = 0,
    .object_type = 8,
    .object_size = 16,
    .bytes = 32,
    .text_length = 16,
    .text_state = 32,
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

void setLists(python_layout& layout, uint16_t interpreters, uint16_t next, uint16_t threads) {
  layout.interpreters = interpreters;
  layout.next_interpreter = next;
  layout.threads = threads;
}

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
      version.layout.threads = 72;
      version.layout.thread_id = 136;
      version.layout.frame = 56;
      version.layout.cframe_frame = 0;
      version.layout.cframe_previous = 8;
      break;
    case 13:
      version.flags = PYTHON_STAMPED;
      version.layout = stampedLayout(2160, 70, 200);
      setLists(version.layout, 632, 7264, 7344);
      break;
    case 14:
      version.flags = PYTHON_STAMPED;
      version.layout = stampedLayout(2336, 74, 208);
      setLists(version.layout, 808, 7272, 7344);
      break;
    default:
      version.flags = PYTHON_STAMPED;
      version.layout = stampedLayout(0, 74, 208);
      setLists(version.layout, 936, 7264, 7336);
      version.layout.thread_id = 176;
      break;
  }
  return version;
}

}  // namespace polytop
