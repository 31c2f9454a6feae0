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
  for (interpreted_frame& frame : stack.interpreted) {
    const uint32_t kind = frame.meta & INTERPRETED_KIND_MASK, instruction = frame.line;
    if (ownerOf(frame) != INTERPRETER_PYTHON || (kind != PYTHON_FRAME && kind != PYTHON_CALL)) continue;
    const PythonTable* table = instruction ? find(frame.name) : nullptr;
    frame.line = 0;
    if (table && instruction < PYTHON_INSTRUCTION)
      frame.line = table->firstLine();
    else if (table)
      frame.line = table->lineOf(2 * (instruction - PYTHON_INSTRUCTION));
  }
}

void PythonLines::renew() {
  olderTables_ = std::exchange(tables_, {});
  bytes_ = 0;
}

}  // namespace polytop
