// SPDX-License-Identifier: Apache-2.0
#include "python/python_lines.h"

#include <algorithm>
#include <span>
#include <utility>

namespace polytop {

void PythonLines::take(uint32_t type, const void* data, size_t size) {
  if (type != RECORD_PYTHON_CODE || size < offsetof(python_code_record, table)) return;
  const auto& record = *static_cast<const python_code_record*>(data);
  const size_t sent = std::min<size_t>(record.size, size - offsetof(python_code_record, table));
  const std::span<const uint8_t> table(reinterpret_cast<const uint8_t*>(record.table), sent);
  if (bytes_ >= kMaxBytes || tables_.contains(record.name)) return;
  const auto [added, isNew] =
      tables_.try_emplace(record.name, static_cast<python_table>(record.table_kind), record.first_line, table);
  if (isNew) bytes_ += added->second.bytes();
}

const PythonTable* PythonLines::find(uint64_t name) const {
  for (const Tables* tables : {&tables_, &olderTables_}) {
    const auto found = tables->find(name);
    if (found != tables->end()) return &found->second;
  }
  return nullptr;
}

void PythonLines::correct(std::span<InterpretedStack> stacks) {
  for (InterpretedStack& stack : stacks) correct(stack);
}

void PythonLines::correct(InterpretedStack& stack) const {
  uint64_t* frames = stack.interpreted();
  for (uint32_t i = 0; i < stack.record.interpreted_count; i++) {
    const auto meta = static_cast<uint32_t>(frames[2 * i + 1] >> 32);
    const auto instruction = static_cast<uint32_t>(frames[2 * i + 1]);
    const uint32_t kind = meta & INTERPRETED_KIND_MASK;
    if ((meta >> INTERPRETED_OWNER_SHIFT & INTERPRETED_OWNER_MASK) != INTERPRETER_PYTHON) continue;
    if (kind != PYTHON_FRAME && kind != PYTHON_CALL) continue;
    const PythonTable* table = instruction ? find(frames[2 * i]) : nullptr;
    uint32_t line = 0;
    if (table && instruction < PYTHON_INSTRUCTION)
      line = table->firstLine();
    else if (table)
      line = table->lineOf(2 * (instruction - PYTHON_INSTRUCTION));
    frames[2 * i + 1] = static_cast<uint64_t>(meta) << 32 | line;
  }
}

void PythonLines::renew() {
  olderTables_ = std::exchange(tables_, {});
  bytes_ = 0;
}

}  // namespace polytop
