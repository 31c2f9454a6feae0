// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "bpf/abi.h"
#include "drain/frame_lines.h"
#include "v8/position_table.h"
#include "v8/script_lines.h"

namespace polytop {

/**
 * Lines of JavaScript frames. The kernel side knows the bytecode of each frame, sends the table of positions of a
 * function with its name, and says where the source is: that is read here, once for all processes that have the same.
 */
class V8Lines : public FrameLines {
 public:
  /// `memory` must outlive this object.
  explicit V8Lines(MemoryReader& memory) : memory_(memory) {}

  void take(uint32_t type, const void* data, size_t size) override;
  void correct(std::span<InterpretedStack> stacks) override;
  void renew() override;
  /// How much is read in each refresh is bounded.
  void beginRefresh() override { readable_ = kReadable; }

 private:
  static constexpr size_t kMaxTables = 48 << 20;   ///< bytes of tables of positions
  static constexpr size_t kMaxScripts = 48 << 20;  ///< bytes of lines of scripts
  static constexpr size_t kReadable = 96 << 20;    ///< bytes of sources that are read in a refresh, some 50 ms

  struct Function {
    uint64_t script;
    PositionTable positions;
  };
  using Functions = std::unordered_map<uint64_t, Function>;

  void correct(InterpretedStack& stack) const;
  void takeFunction(const v8_function_record& record, size_t size);
  void takeScript(const v8_script_record& record);
  const Function* find(uint64_t name) const;
  /// 0 where the line is unknown.
  uint32_t lineOf(uint64_t script, SourcePosition position) const;

  MemoryReader& memory_;
  Functions functions_;  ///< by name
  Functions olderFunctions_;
  size_t functionBytes_ = 0;                           ///< of functions_
  std::unordered_map<uint64_t, ScriptLines> scripts_;  ///< by key
  size_t scriptBytes_ = 0;
  size_t readable_ = kReadable;
};

}  // namespace polytop
