// SPDX-License-Identifier: Apache-2.0
#include "v8/v8_lines.h"

#include <algorithm>
#include <span>
#include <utility>

namespace polytop {

namespace {

/// No stack grows beyond so many words by functions that were compiled into others.
constexpr size_t kMaxWords = 8192;

bool isOfV8(uint32_t meta) { return (meta >> INTERPRETED_OWNER_SHIFT & INTERPRETED_OWNER_MASK) == INTERPRETER_V8; }

/// Whether a stack has frames of V8: those of other interpreters stay as they are.
bool holdsOwn(std::span<const uint64_t> words) {
  for (size_t i = 0; i < words.size(); i += 2)
    if (isOfV8(static_cast<uint32_t>(words[i + 1] >> 32))) return true;
  return false;
}

/// What is known of a name, lately or before.
template <typename Known>
const Known* findIn(const std::unordered_map<uint64_t, Known>& known, const std::unordered_map<uint64_t, Known>& older,
                    uint64_t name) {
  for (const auto* it : {&known, &older}) {
    const auto found = it->find(name);
    if (found != it->end()) return &found->second;
  }
  return nullptr;
}

}  // namespace

void V8Lines::take(uint32_t type, const void* data, size_t size) {
  if (type == RECORD_V8_FUNCTION && size >= offsetof(v8_function_record, table))
    takeFunction(*static_cast<const v8_function_record*>(data), size);
  else if (type == RECORD_V8_CODE && size >= offsetof(v8_code_record, calls))
    takeCode(*static_cast<const v8_code_record*>(data), size);
  else if (type == RECORD_V8_SCRIPT && size >= offsetof(v8_script_record, sent))
    takeScript(*static_cast<const v8_script_record*>(data), size);
}

void V8Lines::takeFunction(const v8_function_record& record, size_t size) {
  const size_t sent = std::min<size_t>(record.size, size - offsetof(v8_function_record, table));
  const std::span table(reinterpret_cast<const uint8_t*>(record.table), sent);
  const auto translated = translations_.find(record.name);
  if (translated != translations_.end()) {
    translated->second.takeTables(table);
    codeBytes_ += sent;
    return;
  }
  if (functions_.contains(record.name)) return;
  PositionTable positions(functionBytes_ < kMaxTables ? table : table.first(0), record.is_unsigned != 0);
  functionBytes_ += positions.bytes();
  functions_.try_emplace(record.name, Function{record.text, record.script, std::move(positions)});
}

void V8Lines::takeCode(const v8_code_record& record, size_t size) {
  const size_t sent = (size - offsetof(v8_code_record, calls)) / sizeof record.calls[0];
  if (codeBytes_ >= kMaxCodes || record.inlined_count > V8_INLINED) return;
  const std::span inlined(record.inlined, record.inlined_count);
  const std::span calls(record.calls, std::min<size_t>({record.call_count, sent, V8_CALLS}));
  if (record.return_bytes) {
    const auto [added, isNew] =
        translations_.try_emplace(record.name, inlined, record.first_call, calls, record.return_bytes);
    if (isNew) codeBytes_ += added->second.bytes();
  } else {
    const auto [added, isNew] = codes_.try_emplace(record.name, inlined, calls);
    if (isNew) codeBytes_ += added->second.bytes();
  }
}

void V8Lines::takeScript(const v8_script_record& record, size_t size) {
  if (scripts_.contains(record.key)) return;
  const uint64_t length = static_cast<uint64_t>(record.length) << (record.is_wide ? 1 : 0);
  const bool isSent = length > 0 && record.size == length && size - offsetof(v8_script_record, sent) >= length;
  if (isSent) return addScript(record, std::span(reinterpret_cast<const uint8_t*>(record.sent), length));
  if (length > readable_) return;
  const std::vector<uint8_t> source = readSource(memory_, record);
  readable_ -= source.size();
  if (!source.empty()) addScript(record, source);
}

void V8Lines::addScript(const v8_script_record& record, std::span<const uint8_t> source) {
  if (scriptBytes_ >= kMaxScripts) {
    scripts_.clear();
    scriptBytes_ = 0;
  }
  const auto [added, isNew] = scripts_.try_emplace(record.key, source, record.is_wide != 0, record.lines_before);
  if (isNew) scriptBytes_ += added->second.bytes();
}

const V8Lines::Function* V8Lines::find(uint64_t name) const { return findIn(functions_, olderFunctions_, name); }

void V8Lines::append(std::vector<uint64_t>& into, uint64_t name, const Function* function, uint32_t kind,
                     uint32_t line) {
  const uint64_t meta = kind | INTERPRETER_V8 << INTERPRETED_OWNER_SHIFT;
  into.insert(into.end(), {function ? function->text : name, meta << 32 | line});
}

uint32_t V8Lines::lineOf(uint64_t script, SourcePosition position) const {
  const auto lines = scripts_.find(script);
  return lines == scripts_.end() || !position.isKnown() ? 0 : lines->second.lineOf(position.offset());
}

void V8Lines::correct(std::span<InterpretedStack> stacks) {
  for (InterpretedStack& stack : stacks) correct(stack);
}

void V8Lines::correct(InterpretedStack& stack) const {
  const std::span words(stack.interpreted(), 2 * static_cast<size_t>(stack.record.interpreted_count));
  if (!holdsOwn(words)) return;
  std::vector<uint64_t> frames;
  frames.reserve(words.size());
  for (size_t i = 0; i < words.size(); i += 2) {
    const std::span<const uint64_t, 2> frame(&words[i], 2);
    const auto meta = static_cast<uint32_t>(frame[1] >> 32);
    const auto place = static_cast<uint32_t>(frame[1]);
    const uint32_t kind = isOfV8(meta) ? meta & INTERPRETED_KIND_MASK : 0;
    if (kind == V8_CALL) {
      if (i + 2 < words.size() && expand(frame[0], place, std::span<const uint64_t, 2>(&words[i + 2], 2), frames))
        i += 2;
    } else if (kind == V8_FRAME || kind == V8_BYTECODE || kind == V8_MERGED) {
      const Function* function = find(frame[0]);
      const bool isPlaced = function && kind == V8_BYTECODE && place >= V8_INSTRUCTION;
      append(frames, frame[0], function, kind,
             isPlaced ? lineOf(function->script, function->positions.at(place - V8_INSTRUCTION)) : 0);
    } else {
      frames.insert(frames.end(), frame.begin(), frame.end());
    }
  }
  stack.record.interpreted_count = static_cast<uint16_t>(frames.size() / 2);
  stack.words.resize(stack.record.frame_count);
  stack.words.insert(stack.words.end(), frames.begin(), frames.end());
}

bool V8Lines::expand(uint64_t code, uint32_t returnsTo, std::span<const uint64_t, 2> frame,
                     std::vector<uint64_t>& into) const {
  if (into.size() >= kMaxWords) return false;
  if (const TranslatedCalls* calls = findIn(translations_, olderTranslations_, code))
    return expandTranslated(*calls, returnsTo, frame[0], into);
  const CompiledCalls* calls = findIn(codes_, olderCodes_, code);
  const Function* compiled = calls ? find(code) : nullptr;
  return compiled && expandCompiled(*calls, *compiled, returnsTo, frame[0], into);
}

bool V8Lines::expandCompiled(const CompiledCalls& calls, const Function& compiled, uint32_t returnsTo,
                             uint64_t function, std::vector<uint64_t>& into) const {
  if (!calls.returnsTo(returnsTo)) return false;
  const std::vector<PlacedCall> places = calls.framesOf(compiled.positions.at(returnsTo - 1), function);
  for (const PlacedCall& it : places) {
    const Function* known = find(it.name);
    append(into, it.name, known, V8_FRAME, known ? lineOf(known->script, it.position) : 0);
  }
  return !places.empty();
}

bool V8Lines::expandTranslated(const TranslatedCalls& calls, uint32_t returnsTo, uint64_t function,
                               std::vector<uint64_t>& into) const {
  const std::vector<TranslatedFrame> frames = calls.framesOf(returnsTo, function);
  for (const TranslatedFrame& it : frames) {
    const Function* known = find(it.name);
    append(into, it.name, known, V8_FRAME, known ? lineOf(known->script, known->positions.at(it.bytecode)) : 0);
  }
  return !frames.empty();
}

void V8Lines::renew() {
  olderFunctions_ = std::exchange(functions_, {});
  functionBytes_ = 0;
  olderCodes_ = std::exchange(codes_, {});
  olderTranslations_ = std::exchange(translations_, {});
  codeBytes_ = 0;
}

}  // namespace polytop
