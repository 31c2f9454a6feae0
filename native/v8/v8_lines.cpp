// SPDX-License-Identifier: Apache-2.0
#include "v8/v8_lines.h"

#include <algorithm>
#include <span>
#include <utility>

namespace polytop {

void V8Lines::take(uint32_t type, const void* data, size_t size) {
  if (type == RECORD_V8_FUNCTION && size >= offsetof(v8_function_record, table))
    takeFunction(*static_cast<const v8_function_record*>(data), size);
  else if (type == RECORD_V8_SCRIPT && size >= sizeof(v8_script_record))
    takeScript(*static_cast<const v8_script_record*>(data));
}

void V8Lines::takeFunction(const v8_function_record& record, size_t size) {
  const size_t sent = std::min<size_t>(record.size, size - offsetof(v8_function_record, table));
  const std::span table(reinterpret_cast<const uint8_t*>(record.table), sent);
  if (functionBytes_ >= kMaxTables || functions_.contains(record.name)) return;
  const auto [added, isNew] =
      functions_.try_emplace(record.name, Function{record.script, PositionTable(table, record.is_unsigned != 0)});
  if (isNew) functionBytes_ += added->second.positions.bytes();
}

void V8Lines::takeScript(const v8_script_record& record) {
  if (scripts_.contains(record.key)) return;
  const uint64_t size = static_cast<uint64_t>(record.length) << (record.is_wide ? 1 : 0);
  if (size > readable_) return;
  const std::vector<uint8_t> source = readSource(memory_, record);
  readable_ -= source.size();
  if (source.empty()) return;
  if (scriptBytes_ >= kMaxScripts) {
    scripts_.clear();
    scriptBytes_ = 0;
  }
  const auto [added, isNew] = scripts_.try_emplace(record.key, source, record.is_wide != 0, record.lines_before);
  if (isNew) scriptBytes_ += added->second.bytes();
}

const V8Lines::Function* V8Lines::find(uint64_t name) const {
  for (const Functions* functions : {&functions_, &olderFunctions_}) {
    const auto found = functions->find(name);
    if (found != functions->end()) return &found->second;
  }
  return nullptr;
}

uint32_t V8Lines::lineOf(uint64_t script, SourcePosition position) const {
  const auto lines = scripts_.find(script);
  return lines == scripts_.end() || !position.isKnown() ? 0 : lines->second.lineOf(position.offset());
}

void V8Lines::correct(std::span<InterpretedStack> stacks) {
  for (InterpretedStack& stack : stacks) correct(stack);
}

void V8Lines::correct(InterpretedStack& stack) const {
  uint64_t* frames = stack.interpreted();
  for (uint32_t i = 0; i < stack.record.interpreted_count; i++) {
    const auto meta = static_cast<uint32_t>(frames[2 * i + 1] >> 32);
    const auto instruction = static_cast<uint32_t>(frames[2 * i + 1]);
    if ((meta >> INTERPRETED_OWNER_SHIFT & INTERPRETED_OWNER_MASK) != INTERPRETER_V8) continue;
    if ((meta & INTERPRETED_KIND_MASK) != V8_BYTECODE) continue;
    const Function* function = instruction >= V8_INSTRUCTION ? find(frames[2 * i]) : nullptr;
    const uint32_t line = function ? lineOf(function->script, function->positions.at(instruction - V8_INSTRUCTION)) : 0;
    frames[2 * i + 1] = static_cast<uint64_t>(meta) << 32 | line;
  }
}

void V8Lines::renew() {
  olderFunctions_ = std::exchange(functions_, {});
  functionBytes_ = 0;
}

}  // namespace polytop
