// SPDX-License-Identifier: Apache-2.0
//
// Tables of positions and lines of V8, made up and random; exits with 1 if a check failed.
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include "check.h"
#include "memory/memory_reader.h"
#include "v8/compiled_calls.h"
#include "v8/interleave.h"
#include "v8/position_table.h"
#include "v8/script_lines.h"
#include "v8/translated_calls.h"
#include "v8/v8_layout.h"
#include "v8/v8_lines.h"

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

void testCompiledCalls() {
  // The second was compiled into the first, both into function 7; the third leads to one behind it, the fourth to
  // itself.
  const std::vector<v8_inlined> inlined = {
      {position(10), 71}, {position(20, 1), 72}, {position(30, 4), 73}, {position(40, 4), 74}, {position(50, 9), 75}};
  const std::vector<uint32_t> returns = {400, 200, 300};
  const CompiledCalls calls(inlined, returns);
  check(calls.returnsTo(200) && calls.returnsTo(400), "what calls return to");
  check(!calls.returnsTo(0) && !calls.returnsTo(201) && !calls.returnsTo(500), "no other place");
  const std::vector<PlacedCall> own = calls.framesOf(SourcePosition(position(5)), 7);
  check(own.size() == 1 && own[0].name == 7 && own[0].position.offset() == 5, "a call of the function itself");
  const std::vector<PlacedCall> inner = calls.framesOf(SourcePosition(position(5, 2)), 7);
  check(inner.size() == 3 && inner[0].name == 72 && inner[0].position.offset() == 5, "the innermost first");
  check(inner.size() == 3 && inner[1].name == 71 && inner[1].position.offset() == 20, "where that was called");
  check(inner.size() == 3 && inner[2].name == 7 && inner[2].position.offset() == 10, "and the function last");
  for (const uint32_t wrong : {3, 4, 5, 6, 0xffff})
    check(calls.framesOf(SourcePosition(position(5, wrong)), 7).empty(), "no loop, and none that there is not");
  check(calls.framesOf(SourcePosition(), 7).empty(), "no position, no frames");
  check(CompiledCalls({}, {}).framesOf(SourcePosition(position(5)), 7).size() == 1, "nothing was compiled in");
}

/// Operations of translations, with the numbers that follow them.
enum Operation : uint8_t { kFrame = 1, kBuiltinFrame = 2, kBegin = 14, kLiteral = 38, kRepeat = 44, kRepeatShort = 45 };

void operation(Bytes& bytes, Operation operation, const std::vector<int>& numbers) {
  bytes.push_back(operation);
  for (const int it : numbers) number(bytes, static_cast<uint64_t>(it) << 1);
}

void begin(Bytes& bytes, uint32_t distance, int frames) {
  bytes.push_back(kBegin);
  number(bytes, distance);
  for (int i = 0; i < 2; i++) number(bytes, static_cast<uint64_t>(frames) << 1);
}

/// A table by return addresses whose entries are of one byte each: offset, number and 1, offset once given up and 1.
Bytes returnTable(const std::vector<std::array<uint8_t, 3>>& entries) {
  const v8_return_table head = {4, static_cast<uint32_t>(entries.size()), 1 | 1 << 1 | 1 << 4 | 1 << 7, 2};
  Bytes bytes(sizeof head);
  memcpy(bytes.data(), &head, sizeof head);
  for (const auto& [offset, call, givenUp] : entries) bytes.insert(bytes.end(), {offset, call, givenUp, 0, 0});
  return bytes;
}

void testTranslatedCalls() {
  Bytes translations;
  // Function 7 at 10 calls a builtin that calls function 8 at 20.
  begin(translations, 0, 3);
  operation(translations, kFrame, {10, 0, 5, 2});
  operation(translations, kLiteral, {40});
  operation(translations, kBuiltinFrame, {3, 2, 1});
  operation(translations, kFrame, {20, 3, 5, 2});
  operation(translations, kLiteral, {41});
  const auto second = static_cast<uint32_t>(translations.size());
  // The same but for the innermost frame, which is at 24.
  begin(translations, second, 3);
  translations.push_back(kRepeatShort + 3);
  operation(translations, kFrame, {24, 3, 5, 2});
  translations.push_back(kRepeatShort + 1);
  const auto third = static_cast<uint32_t>(translations.size());
  // All frames are those of the first; the number stands by itself.
  begin(translations, third, 3);
  translations.push_back(kRepeat);
  number(translations, 5);
  const auto unknown = static_cast<uint32_t>(translations.size());
  // A function that is no literal.
  begin(translations, 0, 1);
  operation(translations, kFrame, {10, 4, 5, 2});
  const auto endless = static_cast<uint32_t>(translations.size());
  begin(translations, 0, 9);
  operation(translations, kFrame, {10, 0, 5, 2});

  const std::vector<v8_inlined> functions = {{3, 8}, {0, 7}};
  const std::vector<uint32_t> starts = {0, second, third, unknown, endless, 5000};
  // The first two calls are of places that code is left at between calls.
  Bytes tables = returnTable(
      {{90, 3, 0}, {100, 4, 201}, {110, 5, 0}, {120, 6, 0}, {130, 7, 0}, {140, 8, 0}, {150, 1, 0}, {160, 0, 0}});
  const auto returnBytes = static_cast<uint32_t>(tables.size());
  tables.insert(tables.end(), translations.begin(), translations.end());
  TranslatedCalls calls(functions, 2, starts, returnBytes);
  check(calls.framesOf(90, 7).empty(), "no tables, no frames");
  calls.takeTables(tables);
  const auto first = calls.framesOf(90, 7);
  check(first.size() == 2 && first[0].name == 8 && first[0].bytecode == 20, "the innermost frame first");
  check(first.size() == 2 && first[1].name == 7 && first[1].bytecode == 10, "the function last, no builtin between");
  for (const uint32_t offset : {100, 200}) {
    const auto frames = calls.framesOf(offset, 7);
    check(frames.size() == 2 && frames[0].bytecode == 24 && frames[1].bytecode == 10, "what is repeated is the same");
  }
  const auto same = calls.framesOf(110, 7);
  check(same.size() == 2 && same[0].bytecode == 20 && same[1].bytecode == 10, "all of it may be repeated");
  for (const uint32_t offset : {120, 130, 140, 150, 160, 91, 0})
    check(calls.framesOf(offset, 7).empty(), "nothing is made up");
  check(calls.framesOf(90, 8).empty(), "frames of another function are none");
}

constexpr uint64_t kScript = 50;

void takeScript(V8Lines& lines, std::string_view source) {
  const auto record = std::make_unique<v8_script_record>();
  record->type = RECORD_V8_SCRIPT;
  record->key = kScript;
  record->length = record->size = static_cast<uint32_t>(source.size());
  source.copy(record->sent, source.size());
  lines.take(RECORD_V8_SCRIPT, record.get(), offsetof(v8_script_record, sent) + source.size());
}

void takeFunction(V8Lines& lines, uint64_t name, uint64_t text, const Bytes& table) {
  const auto record = std::make_unique<v8_function_record>();
  record->type = RECORD_V8_FUNCTION;
  record->name = name;
  record->text = text;
  record->script = kScript;
  record->size = static_cast<uint16_t>(table.size());
  memcpy(record->table, table.data(), table.size());
  lines.take(RECORD_V8_FUNCTION, record.get(), offsetof(v8_function_record, table) + table.size());
}

using Frames = std::vector<interpreted_frame>;

interpreted_frame ofV8(uint64_t name, uint32_t kind, uint32_t line = 0) {
  return {name, line, kind | INTERPRETER_V8 << INTERPRETED_OWNER_SHIFT};
}

/// The frame of a native stack that is shown for one of V8.
interpreted_frame shown(V8Lines& lines, const interpreted_frame& frame) {
  std::vector<InterpretedStack> stacks(1);
  stacks[0].interpreted = {frame};
  lines.correct(stacks);
  check(stacks[0].interpreted.empty() && stacks[0].native.size() == 1, "a frame of V8 is one of the native stack");
  return stacks[0].native.at(0);
}

bool isEqual(const interpreted_frame& a, const interpreted_frame& b) {
  return a.name == b.name && a.line == b.line && a.meta == b.meta;
}

void testFrames() {
  MemoryReader memory("/nonexistent");
  V8Lines lines(memory, [](uint32_t, uint64_t) { return false; });
  takeScript(lines, "one\ntwo\nthree");
  // The same text in two functions, which are on one line by other instructions.
  takeFunction(lines, 1, 70, tableOf({{1, true, position(0)}, {5, true, position(5)}}, false));
  takeFunction(lines, 2, 70, tableOf({{1, true, position(9)}, {2, true, position(6)}}, false));
  const auto at = [&](uint64_t name, uint32_t bytecode) {
    return shown(lines, ofV8(name, V8_BYTECODE, V8_INSTRUCTION + bytecode));
  };
  check(isEqual(at(1, 0), ofV8(70, V8_BYTECODE, 1)), "a frame has its text and line");
  check(isEqual(at(1, 7), at(2, 3)) && at(1, 7).line == 2, "what is shown alike is the same");
  check(at(2, 0).line == 3, "each function has its own table");
  check(isEqual(at(9, 0), ofV8(9, V8_BYTECODE)), "what is not known keeps its name");
  check(isEqual(shown(lines, ofV8(1, V8_MERGED)), ofV8(70, V8_MERGED)), "no line");
  lines.renew();
  check(isEqual(at(1, 7), ofV8(70, V8_BYTECODE, 2)), "what was known before is still referred to");
  lines.renew();
  check(at(1, 0).name == 1, "and then forgotten");
  takeFunction(lines, 1, 70, tableOf({{1, true, position(0)}, {5, true, position(5)}}, false));
  check(isEqual(at(1, 7), ofV8(70, V8_BYTECODE)), "its script too");
  takeScript(lines, "one\ntwo\nthree");
  check(at(1, 7).line == 2, "until it comes again");
}

void testOthers() {
  MemoryReader memory("/nonexistent");
  V8Lines lines(memory, [](uint32_t, uint64_t) { return false; });
  std::vector<InterpretedStack> stacks(1);
  const interpreted_frame other = {5, 6, INTERPRETER_PYTHON << INTERPRETED_OWNER_SHIFT};
  stacks[0].interpreted = {other, ofV8(7, V8_OTHER)};
  lines.correct(stacks);
  check(stacks[0].interpreted.size() == 1 && isEqual(stacks[0].interpreted.at(0), other), "others stay as they are");
  check(stacks[0].native.size() == 1 && stacks[0].native.at(0).name == 7, "V8's go where they belong");
}

/// The names of a stack in which native frames are numbers below 10, those that carry out bytecodes from 5 on; hidden
/// ones are negative.
std::vector<int> merged(const std::vector<uint64_t>& native, const Frames& javaScript) {
  Frames frames;
  for (const uint64_t name : native) frames.push_back({name, 0, INTERPRETED_NATIVE});
  std::vector<int> names;
  for (const interpreted_frame& it :
       interleave(frames, javaScript, [](uint32_t file, uint64_t offset) { return file == 0 && offset >= 5; })) {
    const int name = static_cast<int>(it.name);
    names.push_back(it.meta == INTERPRETED_FOLDED ? -name : name);
  }
  return names;
}

void testInterleaving() {
  using Names = std::vector<int>;
  const auto frame = [](uint64_t name) { return ofV8(name, V8_FRAME); };
  const auto place = [](uint64_t at) { return ofV8(at, V8_PLACE); };
  check(merged({1, 2, 3}, {frame(17), place(1), frame(18), frame(19), place(2)}) == Names{1, 17, 2, 18, 19, 3},
        "frames go before the native frame that is said");
  check(merged({5, 6, 3}, {frame(17), place(1), frame(18), place(2)}) == Names{-5, 17, -6, 18, 3},
        "code of the interpreter is hidden, the function that it carries out comes after it");
  check(merged({}, {frame(17), frame(18), place(0)}) == Names{17, 18}, "frames of generated code stand alone");
  check(merged({1}, {frame(17), place(0)}) == Names{17, 1}, "or before the others");
  check(merged({1}, {frame(17), place(900)}) == Names{1, 17}, "a place that is none loses no frame");
  check(merged({1}, {frame(17), place(1), frame(18), place(0)}) == Names{1, 17, 18}, "nor do places that fall");
  check(merged({1}, {frame(17)}) == Names{1, 17}, "nor does a list without its last place");
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
    std::vector<v8_inlined> inlined(random() % 20);
    for (v8_inlined& call : inlined) call = {position(5, random() % 22), random()};
    const std::vector<PlacedCall> frames =
        CompiledCalls(inlined, {}).framesOf(SourcePosition(position(5, random() % 22)), 7);
    check(frames.size() <= inlined.size() + 1, "no call is passed twice");
    const std::vector<uint32_t> starts = {0, static_cast<uint32_t>(random() % 300)};
    Bytes tables = returnTable({{1, 1, 3}, {static_cast<uint8_t>(random()), 2, 0}});
    const auto returnBytes = static_cast<uint32_t>(tables.size());
    tables.insert(tables.end(), bytes.begin(), bytes.end());
    if (round % 2) tables[8] = static_cast<uint8_t>(random());
    TranslatedCalls calls(std::vector<v8_inlined>{{0, 7}, {1, 8}}, 0, starts, returnBytes);
    calls.takeTables(tables);
    for (uint32_t offset = 0; offset < 256; offset++) {
      const auto translated = calls.framesOf(offset, 7);
      check(translated.empty() || translated.back().name == 7, "the function is the outermost");
    }
    check(frames.empty() || frames.back().name == 7, "the function is the outermost");
  }
  check(sum > 0, "noise gives lines of no meaning");
}

}  // namespace

int main() {
  testPositions();
  testLines();
  testCompiledCalls();
  testTranslatedCalls();
  testFrames();
  testOthers();
  testInterleaving();
  testVersions();
  testNoise();
  return polytop::reportChecks();
}
