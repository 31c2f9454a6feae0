// SPDX-License-Identifier: Apache-2.0
//
// Tables of lines and offsets of Python, made up and random; exits with 1 if a check failed.
#include <cstring>
#include <random>
#include <vector>

#include "check.h"
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

/// The beginning of _PyRuntime of 3.13, with the offsets of the table.
Bytes debugOffsets() {
  Bytes bytes(kDebugOffsetsBytes);
  const auto put = [&bytes](size_t at, uint64_t value) { memcpy(bytes.data() + at, &value, sizeof value); };
  memcpy(bytes.data(), "xdebugpy", 8);
  put(8, 0x030d00f0);
  const std::pair<size_t, uint64_t> words[] = {{184, 72},  {192, 152}, {232, 8},   {240, 0},  {248, 56},  {264, 70},
                                               {280, 112}, {296, 128}, {304, 136}, {312, 68}, {344, 200}, {560, 40}};
  for (const auto& [at, value] : words) put(at, value);
  return bytes;
}

void testDebugOffsets() {
  const python_layout known = pythonVersion(13).layout;
  const auto read = [&known](const Bytes& bytes, python_layout& layout) {
    layout = known;
    return readDebugOffsets(bytes, 0x030d00f0, layout);
  };
  python_layout layout;
  Bytes bytes = debugOffsets();
  check(read(bytes, layout) == DebugOffsets::kFit, "debug offsets: those of 3.13 are taken");
  check(memcmp(&layout, &known, sizeof layout) == 0, "debug offsets: they are those of the table");
  bytes[16] = 1;
  check(read(bytes, layout) == DebugOffsets::kFreeThreaded, "debug offsets: a build without the GIL");
  bytes = debugOffsets();
  bytes[8] = 1;
  check(read(bytes, layout) == DebugOffsets::kUnknown, "debug offsets: another version than the file's");
  check(read({}, layout) == DebugOffsets::kUnknown, "debug offsets: a file that ends before");
  for (size_t at : {184, 192, 232, 240, 248, 264, 280, 296, 304, 312, 344, 560}) {
    bytes = debugOffsets();
    bytes[at + 1] = 0x40;
    check(read(bytes, layout) == DebugOffsets::kUnknown, "debug offsets: one that leads too far");
  }
}

}  // namespace

int main() {
  testLnotab();
  testLinetable();
  testLocations();
  testNoise();
  testDebugOffsets();
  return polytop::reportChecks();
}
