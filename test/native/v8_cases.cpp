// SPDX-License-Identifier: Apache-2.0
//
// Tables of positions and lines of V8, made up and random; exits with 1 if a check failed.
#include <random>
#include <string_view>
#include <vector>

#include "check.h"
#include "v8/position_table.h"
#include "v8/script_lines.h"
#include "v8/v8_layout.h"

namespace {

using namespace polytop;

using Bytes = std::vector<uint8_t>;

void number(Bytes& bytes, uint64_t value) {
  for (; value > 0x7f; value >>= 7) bytes.push_back(static_cast<uint8_t>(value | 0x80));
  bytes.push_back(static_cast<uint8_t>(value));
}

uint64_t zigzag(int64_t value) { return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63); }

/// The word of an offset in the source, in the code of an inlined call.
uint64_t position(uint32_t offset, uint32_t inlining = 0) {
  return (static_cast<uint64_t>(offset) + 1) << 1 | static_cast<uint64_t>(inlining) << 31;
}

struct Row {
  int64_t distance;
  bool isStatement;
  uint64_t position;
};

Bytes tableOf(const std::vector<Row>& rows, bool isUnsigned) {
  Bytes bytes;
  uint64_t last = 0;
  for (const Row& row : rows) {
    if (isUnsigned)
      number(bytes, static_cast<uint64_t>(row.distance) << 2 | 2 | (row.isStatement ? 1 : 0));
    else
      number(bytes, zigzag(row.isStatement ? row.distance : -row.distance - 1));
    number(bytes, zigzag(static_cast<int64_t>(row.position - last)));
    last = row.position;
  }
  return bytes;
}

void testPositions() {
  // The first row is of offset 0: offsets count from -1 on.
  const std::vector<Row> rows = {{1, true, position(100)}, {7, false, position(130, 3)}, {4, true, position(90)}};
  for (const bool isUnsigned : {false, true}) {
    const PositionTable table(tableOf(rows, isUnsigned), isUnsigned);
    check(table.first().offset() == 100, "the first position");
    check(table.at(0).offset() == 100 && table.at(6).offset() == 100, "a position holds up to the next");
    check(table.at(7).offset() == 130 && table.at(7).inlining() == 3, "one of an inlined call");
    check(table.at(11).offset() == 90 && table.at(5000).offset() == 90 && table.at(11).inlining() == 0, "one before");
  }
  const Bytes late = tableOf({{6, true, position(40)}}, false);
  check(!PositionTable(late, false).at(4).isKnown(), "before the first row there is none");
  check(!PositionTable(Bytes{}, false).at(0).isKnown(), "no table, no position");
  check(!SourcePosition(position(3) | 1).isKnown(), "an external position is none of the script");
}

void testLines() {
  static constexpr std::string_view kText = "a\nb\r\nc\rd";
  const Bytes text(kText.begin(), kText.end());
  const ScriptLines lines(text, false);
  check(lines.lineOf(0) == 1 && lines.lineOf(1) == 1, "a line ends with its newline");
  check(lines.lineOf(2) == 2 && lines.lineOf(4) == 2, "two characters end one line");
  check(lines.lineOf(5) == 3 && lines.lineOf(7) == 4 && lines.lineOf(9000) == 4, "a carriage return ends one, too");
  const Bytes wide{'a', 0, 0x28, 0x20, 'b', 0, 0x29, 0x20, 'c', 0, 0x0a, 0x01};
  check(ScriptLines(wide, true).lineOf(2) == 2 && ScriptLines(wide, true).lineOf(5) == 3, "separators of two bytes");
  check(ScriptLines(Bytes{}, true).lineOf(0) == 1, "nothing is one line");
  check(ScriptLines(text, false, 7).lineOf(0) == lines.lineOf(0) + 7, "lines ahead of the script");
  check(ScriptLines(text, false, -1).lineOf(0) == 0, "a line ahead of the first is unknown");
  check(ScriptLines(text, false, INT32_MAX).lineOf(0) == 0, "a line that is too large is unknown");
}

void testVersions() {
  check(v8Version(13, 6) && v8Version(10, 2), "versions of Node are known");
  check(!v8Version(13, 7) && !v8Version(9, 9) && !v8Version(0, 0), "others are not");
}

/// Whatever the bytes: no access outside, and no end.
void testNoise() {
  std::mt19937 random(1);
  uint64_t sum = 0;
  for (int round = 0; round < 4000; round++) {
    Bytes bytes(random() % 300);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    for (const bool flag : {false, true}) {
      const PositionTable table(bytes, flag);
      const ScriptLines lines(bytes, flag);
      sum += lines.lineOf(table.at(static_cast<uint32_t>(random())).offset());
    }
  }
  check(sum > 0, "noise gives lines of no meaning");
}

}  // namespace

int main() {
  testPositions();
  testLines();
  testVersions();
  testNoise();
  return polytop::reportChecks();
}
