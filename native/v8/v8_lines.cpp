// SPDX-License-Identifier: Apache-2.0
#include "v8/v8_lines.h"

#include <algorithm>
#include <span>
#include <utility>

namespace polytop {

namespace {

/// No stack grows beyond so many frames by functions that were compiled into others.
constexpr size_t kMaxInlinedFrames = 4096;

bool isOfV8(const interpreted_frame& frame) { return ownerOf(frame) == INTERPRETER_V8; }

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

void V8Lines::append(std::vector<interpreted_frame>& into, uint64_t name, const Function* function, uint32_t kind,
                     uint32_t line) {
  into.push_back({function ? function->text : name, line, kind | INTERPRETER_V8 << INTERPRETED_OWNER_SHIFT});
}

uint32_t V8Lines::lineOf(uint64_t script, SourcePosition position) const {
  const ScriptLines* lines = findIn(scripts_, olderScripts_, script);
  return lines && position.isKnown() ? lines->lineOf(position.offset()) : 0;
}

void V8Lines::correct(std::span<InterpretedStack> stacks) {
  for (InterpretedStack& stack : stacks) correct(stack);
}

void V8Lines::correct(InterpretedStack& stack) const {
  std::vector<interpreted_frame>& frames = stack.interpreted;
  // Most stacks have none: to part their frames takes memory for each.
  if (std::ranges::none_of(frames, isOfV8)) return;
  const auto own = std::stable_partition(frames.begin(), frames.end(), [](const auto& it) { return !isOfV8(it); });
  stack.native = interleave(stack.native, shown({own, frames.end()}), carriesOutBytecodes_);
  frames.erase(own, frames.end());
}

std::vector<interpreted_frame> V8Lines::shown(std::span<const interpreted_frame> frames) const {
  std::vector<interpreted_frame> shown;
  shown.reserve(frames.size());
  for (size_t i = 0; i < frames.size(); i++) {
    const interpreted_frame& frame = frames[i];
    const uint32_t kind = frame.meta & INTERPRETED_KIND_MASK;
    if (kind == V8_CALL) {
      if (i + 1 < frames.size() && expand(frame, frames[i + 1].name, shown)) i++;
    } else if (kind == V8_FRAME || kind == V8_BYTECODE || kind == V8_MERGED) {
      const Function* function = find(frame.name);
      const bool isPlaced = function && kind == V8_BYTECODE && frame.line >= V8_INSTRUCTION;
      append(shown, frame.name, function, kind,
             isPlaced ? lineOf(function->script, function->positions.at(frame.line - V8_INSTRUCTION)) : 0);
    } else {
      shown.push_back(frame);
    }
  }
  return shown;
}

bool V8Lines::expand(const interpreted_frame& call, uint64_t function, std::vector<interpreted_frame>& into) const {
  if (into.size() >= kMaxInlinedFrames) return false;
  if (const TranslatedCalls* calls = findIn(translations_, olderTranslations_, call.name))
    return expandTranslated(*calls, call.line, function, into);
  const CompiledCalls* calls = findIn(codes_, olderCodes_, call.name);
  const Function* compiled = calls ? find(call.name) : nullptr;
  return compiled && expandCompiled(*calls, *compiled, call.line, function, into);
}

bool V8Lines::expandCompiled(const CompiledCalls& calls, const Function& compiled, uint32_t returnsTo,
                             uint64_t function, std::vector<interpreted_frame>& into) const {
  if (!calls.returnsTo(returnsTo)) return false;
  const std::vector<PlacedCall> places = calls.framesOf(compiled.positions.at(returnsTo - 1), function);
  for (const PlacedCall& it : places) {
    const Function* known = find(it.name);
    append(into, it.name, known, V8_FRAME, known ? lineOf(known->script, it.position) : 0);
  }
  return !places.empty();
}

bool V8Lines::expandTranslated(const TranslatedCalls& calls, uint32_t returnsTo, uint64_t function,
                               std::vector<interpreted_frame>& into) const {
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
  olderScripts_ = std::exchange(scripts_, {});
  scriptBytes_ = 0;
}

}  // namespace polytop
