// SPDX-License-Identifier: Apache-2.0
//
// Tables of lines and offsets of Python, made up and random; exits with 1 if a check failed.
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <random>
#include <vector>

#include "arch/thread_access.h"
#include "check.h"
#include "python/debug_offsets.h"
#include "python/python_layout.h"
#include "python/python_table.h"

namespace {

using namespace polytop;

using Bytes = std::vector<uint8_t>;

void testLnotab() {
  // Six bytes of line 10, then line 11 up to byte 50, then one line back; no line is further than 127 lines.
  const PythonTable table(PYTHON_LNOTAB, 10, Bytes{6, 1, 44, 255, 0, 127, 2, 1});
  check(table.lineOf(0) == 10 && table.lineOf(5) == 10, "lnotab: the first line");
  check(table.lineOf(6) == 11 && table.lineOf(49) == 11, "lnotab: the next one");
  check(table.lineOf(50) == 137, "lnotab: a step back, and one without code in between");
  check(table.lineOf(52) == 138 && table.lineOf(9000) == 138, "lnotab: the last line has no end");
  check(PythonTable(PYTHON_LNOTAB, 3, Bytes{}).lineOf(0) == 3, "lnotab: one line is no table");
}

void testLinetable() {
  const PythonTable table(PYTHON_LINETABLE, 5, Bytes{4, 1, 2, 128, 6, 0, 2, 254});
  check(table.lineOf(0) == 6 && table.lineOf(3) == 6, "linetable: a line counts from the first");
  check(table.lineOf(4) == 0, "linetable: code of no line");
  check(table.lineOf(6) == 6 && table.lineOf(12) == 4, "linetable: the same one again, and one before");
  check(table.lineOf(14) == 0, "linetable: behind its end");
}

void testLocations() {
  const PythonTable table(PYTHON_LOCATIONS, 20,
                          Bytes{0x80 | 10 << 3 | 1, 0, 0,                            // the same line, 2 units, columns
                                0x80 | 12 << 3 | 0, 1, 2,                            // two lines further, 1 unit
                                0x80 | 0 << 3 | 2, 7,                                // short form, 3 units
                                0x80 | 15 << 3 | 0,                                  // none, 1 unit
                                0x80 | 13 << 3 | 0, 0x05,                            // two lines back, no columns
                                0x80 | 14 << 3 | 3, 0x48, 0x02, 1, 0x41, 0x01, 2});  // long: 68 lines further
  check(table.firstLine() == 20 && table.lineOf(0) == 20 && table.lineOf(3) == 20, "locations: the first line");
  check(table.lineOf(4) == 22 && table.lineOf(11) == 22, "locations: forms with a line and without");
  check(table.lineOf(12) == 0, "locations: no line");
  check(table.lineOf(14) == 20, "locations: a step back");
  check(table.lineOf(16) == 88 && table.lineOf(23) == 88, "locations: a number of two bytes");
  check(table.lineOf(24) == 0, "locations: behind its end");
  const PythonTable other(PYTHON_LOCATIONS, 20, Bytes{0x80 | 10 << 3 | 1, 0, 0, 0x12, 0, 0x80 | 13 << 3, 4});
  check(other.lineOf(0) == 0 && other.lineOf(6) == 0, "locations: a table of another kind has no lines");
}

/// Whatever the bytes: a line below 2^31 or none, and no access outside.
void testNoise() {
  std::mt19937 random(1);
  bool good = true;
  for (int round = 0; round < 3000; round++) {
    Bytes bytes(random() % 300);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    for (const python_table kind : {PYTHON_LNOTAB, PYTHON_LINETABLE, PYTHON_LOCATIONS}) {
      const PythonTable table(kind, static_cast<uint32_t>(random()), bytes);
      for (uint32_t offset = 0; offset < 3000; offset += 7) good = good && table.lineOf(offset) <= 0x7fffffff;
    }
  }
  check(good, "noise: every line is a line");
}

/// What a build says of itself: the words before the state of a thread, and the parts with what lies between them.
struct Described {
  uint32_t version;
  bool isFreeThreaded;
  size_t thread, threadId, frame, code, object, bytes, text;
};

constexpr Described kDescribed[] = {
    {0x030d05f0, false, 19, 5, 28, 34, 44, 64, 67}, {0x030d05f0, true, 19, 5, 28, 34, 44, 64, 67},
    {0x030e0af0, false, 22, 5, 31, 39, 50, 74, 77}, {0x030e0af0, true, 22, 5, 31, 39, 50, 74, 77},
    {0x030f02f0, false, 22, 8, 39, 47, 58, 86, 89}, {0x030f02f0, true, 22, 8, 39, 47, 58, 86, 89},
};

/// The offsets are those that a compiler has with the headers of 3.13.5, 3.14.10 and 3.15.2; `moved`: so many words
/// more lie before each part from the frame on.
Bytes debugOffsets(const Described& it, size_t moved = 0) {
  Bytes bytes(kDebugOffsetsBytes);
  const auto put = [&bytes](size_t word, std::initializer_list<uint64_t> values) {
    for (const uint64_t value : values) memcpy(bytes.data() + 8 * word++, &value, sizeof value);
  };
  const bool is13 = (it.version >> 16 & 0xff) == 13, is15 = (it.version >> 16 & 0xff) >= 15, free = it.isFreeThreaded;
  const uint64_t object = free ? 32 : 16, more = free ? 16 : 0, id = is15 ? 176 : 152;
  const uint64_t locals = is13 ? 72 : 80, owner = is13 ? 70 : free ? 78 : 74, copies = free && !is13;
  const uint64_t code = (is13 ? 200 : 208) + more + (copies ? 8 : 0);
  memcpy(bytes.data(), "xdebugpy", 8);
  put(1, {it.version, free, 250000, 600, is15 ? 936u : is13 ? 632u : 808u});
  put(6, {240000, 7280, is13 || is15 ? 7264u : 7272u, is15 ? 7336u : 7344u});
  put(it.thread, {304, 0, 8, 16, 72});
  put(it.thread + it.threadId, {id, id + 8});
  put(it.frame + moved, {locals + 8, 8, 0, 56, locals, owner, 64, copies ? 72u : 0});
  put(it.code + 2 * moved, {code + 8, 112 + more, 120 + more, 128 + more, 136 + more, 68 + more, 52 + more, 96 + more,
                            104 + more, code, copies ? code - 8 : 0});
  put(it.object + 3 * moved, {object, object - 8});
  put(it.bytes + 4 * moved, {object + 24, object, object + 16});
  put(it.text + 5 * moved, {object + 48, object + 16, object, object + 24});
  return bytes;
}

python_layout layoutOf(const Bytes& bytes, uint32_t version, DebugOffsets expected, const char* what) {
  python_layout layout = pythonVersion(std::min<int>(version >> 16 & 0xff, kLatestPython)).layout;
  check(readDebugOffsets(bytes, version, layout) == expected, what);
  return layout;
}

void testDescribed(const Described& it) {
  const uint32_t version = it.version;
  const python_layout known = pythonVersion(version >> 16 & 0xff).layout;
  const Bytes whole = debugOffsets(it);
  const python_layout layout = layoutOf(whole, version, DebugOffsets::kFit, "debug offsets: a version's own are taken");
  if (!it.isFreeThreaded) {
    check(memcmp(&layout, &known, sizeof layout) == 0, "debug offsets: they are those of the table");
  } else {
    check(layout.object_type == 24 && layout.text_ascii == 56 && layout.version == 108, "without the GIL: objects");
    check(layout.first_traceable == (version >> 16 == 0x30d ? 200 : 208), "without the GIL: the start of the code");
    check(version >> 16 == 0x30d ? layout.copies == 0 : layout.copies == 224 && layout.copy_index == 72,
          "without the GIL: copies of instructions from 3.14 on");
  }
  for (const size_t word : {it.thread + 1, it.thread + 4, it.thread + it.threadId, it.frame + 1, it.frame + 3,
                            it.frame + 4, it.frame + 5, it.code, it.code + 1, it.code + 3, it.code + 4, it.code + 5,
                            it.code + 9, it.object, it.object + 1, it.bytes + 2, it.text + 1, it.text + 3, size_t{5}}) {
    for (const uint64_t lie : {~uint64_t{0}, uint64_t{3}, uint64_t{4096}}) {
      Bytes bytes = whole;
      memcpy(bytes.data() + 8 * word, &lie, sizeof lie);
      const bool isRoom = word == 5 && lie == 4096;
      layoutOf(bytes, version, isRoom ? DebugOffsets::kFit : DebugOffsets::kContradictory, "debug offsets: a lie");
    }
  }
  layoutOf(whole, version + 0x100, DebugOffsets::kOther, "debug offsets: another version than the file's");
  layoutOf(Bytes(whole.begin(), whole.begin() + 480), version, DebugOffsets::kContradictory, "debug offsets: cut off");
}

void testDebugOffsets() {
  for (const Described& it : kDescribed) testDescribed(it);
  layoutOf({}, 0x030d00f0, DebugOffsets::kAbsent, "debug offsets: a file that ends before");
  for (const bool isFreeThreaded : {false, true}) {
    Described later = kDescribed[4 + isFreeThreaded];
    later.version = 0x031000f0;
    const python_layout known = layoutOf(debugOffsets(later), later.version, DebugOffsets::kFit, "a later version");
    for (const size_t moved : {1, 2, 7}) {
      const python_layout layout =
          layoutOf(debugOffsets(later, moved), later.version, DebugOffsets::kFit, "a later version that has grown");
      check(memcmp(&layout, &known, sizeof layout) == 0, "a later version that has grown: the same offsets");
    }
  }
  std::mt19937 random(2);
  for (int round = 0; round < 3000; round++) {
    Bytes bytes = debugOffsets({0x031000f0, false, 22, 8, 39, 47, 58, 86, 89});
    for (size_t at = 24; at < bytes.size(); at++) bytes[at] = static_cast<uint8_t>(random() % 4 ? random() : 0);
    layoutOf(bytes, 0x031000f0, DebugOffsets::kContradictory, "debug offsets: noise");
  }
}

/// How functions of the libraries and programs of distributions return a variable of their thread.
void testThreadAccess() {
  const auto find = [](const Bytes& code) {
    return arch::findThreadAccess(code, 0x1000).value_or(arch::ThreadAccess());
  };
  const arch::ThreadAccess program =
      find({0xf3, 0x0f, 0x1e, 0xfa, 0x64, 0x48, 0x8b, 0x04, 0x25, 0xd8, 0xff, 0xff, 0xff, 0xc3});
  check(program.model == THREAD_LOCAL_FIXED && program.offset == -40, "thread-local: a program's own");
  const arch::ThreadAccess library =
      find({0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x3d, 0x61, 0xa6, 0x4a, 0x00,
            0xe8, 0x5c, 0x9d, 0xcf, 0xff, 0x5d, 0x48, 0x8b, 0x80, 0x28, 0x00, 0x00, 0x00, 0xc3});
  check(library.model == THREAD_LOCAL_MODULE && library.word == 0x1000 + 15 + 0x4aa661 && library.offset == 40,
        "thread-local: a library's, of which it has several");
  const arch::ThreadAccess general =
      find({0x48, 0x83, 0xec, 0x08, 0x66, 0x48, 0x8d, 0x3d, 0x10, 0x00, 0x00, 0x00, 0x66, 0x66,
            0x48, 0xe8, 0,    0,    0,    0,    0x48, 0x8b, 0x00, 0x48, 0x83, 0xc4, 0x08, 0xc3});
  check(general.model == THREAD_LOCAL_MODULE && general.word == 0x101c && general.offset == 0, "thread-local: one");
  const arch::ThreadAccess linked = find({0x64, 0x48, 0x8b, 0x04, 0x25, 0,    0,    0,    0,    0x48, 0x8d,
                                          0x80, 0xf0, 0xff, 0xff, 0xff, 0x48, 0x8b, 0x40, 0x08, 0xc3});
  check(linked.model == THREAD_LOCAL_FIXED && linked.offset == -8, "thread-local: what the linker made of that");
  const arch::ThreadAccess initial = find({0x48, 0x8b, 0x05, 0x20, 0, 0, 0, 0x64, 0x48, 0x8b, 0x00, 0xc3});
  check(initial.model == THREAD_LOCAL_WORD && initial.word == 0x1027, "thread-local: a library that comes first");
  check(find({0xb8, 1, 0, 0, 0, 0xc3}).model == THREAD_LOCAL_NONE && find({}).model == THREAD_LOCAL_NONE,
        "thread-local: other code");
  std::mt19937 random(3);
  const Bytes some[] = {{0x64, 0x48, 0x8b, 0x04, 0x25}, {0x48, 0x8d, 0x3d}, {0x48, 0x8b, 0x05}};
  for (int round = 0; round < 3000; round++) {
    Bytes bytes = some[round % 3];
    const size_t size = bytes.size() + random() % 24;
    while (bytes.size() < size) bytes.push_back(static_cast<uint8_t>(random()));
    find(bytes);  // no access outside
  }
}

}  // namespace

int main() {
  testLnotab();
  testLinetable();
  testLocations();
  testNoise();
  testDebugOffsets();
  testThreadAccess();
  return polytop::reportChecks();
}
