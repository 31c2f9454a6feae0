// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpf/abi.h"
#include "drain/frame_lines.h"
#include "v8/compiled_calls.h"
#include "v8/interleave.h"
#include "v8/position_table.h"
#include "v8/script_lines.h"
#include "v8/translated_calls.h"

namespace polytop {

/**
 * Lines and places of JavaScript frames, and frames of functions that were compiled into others. The kernel side knows
 * the bytecode of each frame, or the call in compiled code. It sends the table of positions of a function or code with
 * its name, and says where the source is: that is read here, once for all processes that have the same.
 */
class V8Lines : public FrameLines {
 public:
  /// `memory` must outlive this object. `carriesOutBytecodes` is asked of frames of files, whichever they are.
  V8Lines(MemoryReader& memory, CarriesOutBytecodes carriesOutBytecodes)
      : memory_(memory), carriesOutBytecodes_(std::move(carriesOutBytecodes)) {}

  void take(uint32_t type, const void* data, size_t size) override;
  void correct(std::span<InterpretedStack> stacks) override;
  void renew() override;
  bool isFull() const override { return functions_.size() > kMaxFunctions; }
  /// How much is read in each refresh is bounded.
  void beginRefresh() override { readable_ = kReadable; }

 private:
  static constexpr size_t kMaxFunctions = 60'000;  ///< until everything is named anew
  static constexpr size_t kMaxTables = 48 << 20;   ///< bytes of tables of positions
  static constexpr size_t kMaxCodes = 24 << 20;    ///< bytes of calls in codes
  static constexpr size_t kMaxScripts = 48 << 20;  ///< bytes of lines of scripts
  static constexpr size_t kReadable = 96 << 20;    ///< bytes of sources that are read in a refresh, some 50 ms

  struct Function {
    uint64_t text;  ///< what is shown, by v8_function_record::text
    uint64_t script;
    PositionTable positions;
  };
  using Functions = std::unordered_map<uint64_t, Function>;
  using Codes = std::unordered_map<uint64_t, CompiledCalls>;
  using Translations = std::unordered_map<uint64_t, TranslatedCalls>;
  using Scripts = std::unordered_map<uint64_t, ScriptLines>;

  void correct(InterpretedStack& stack) const;
  /// The frames that are shown for these of V8.
  std::vector<interpreted_frame> shown(std::span<const interpreted_frame> frames) const;
  /// Appends the frames of a call in compiled code, those that were compiled in first. `function`: that of the code.
  /// Returns whether they are known.
  bool expand(const interpreted_frame& call, uint64_t function, std::vector<interpreted_frame>& into) const;
  bool expandCompiled(const CompiledCalls& calls, const Function& compiled, uint32_t returnsTo, uint64_t function,
                      std::vector<interpreted_frame>& into) const;
  bool expandTranslated(const TranslatedCalls& calls, uint32_t returnsTo, uint64_t function,
                        std::vector<interpreted_frame>& into) const;
  void takeCode(const v8_code_record& record, size_t size);
  void takeFunction(const v8_function_record& record, size_t size);
  void takeScript(const v8_script_record& record, size_t size);
  void addScript(const v8_script_record& record, std::span<const uint8_t> source);
  const Function* find(uint64_t name) const;
  /// Appends a frame as it is shown, on line 0 where that is unknown. `function`: what is known of `name`, if anything.
  static void append(std::vector<interpreted_frame>& into, uint64_t name, const Function* function, uint32_t kind,
                     uint32_t line);
  /// 0 where the line is unknown.
  uint32_t lineOf(uint64_t script, SourcePosition position) const;

  MemoryReader& memory_;
  CarriesOutBytecodes carriesOutBytecodes_;
  Functions functions_;  ///< by name
  Functions olderFunctions_;
  size_t functionBytes_ = 0;  ///< of functions_
  Codes codes_;               ///< by name; their tables of positions are in functions_
  Codes olderCodes_;
  Translations translations_;  ///< by name of the code
  Translations olderTranslations_;
  size_t codeBytes_ = 0;  ///< of codes_ and translations_
  Scripts scripts_;       ///< by key
  Scripts olderScripts_;
  size_t scriptBytes_ = 0;  ///< of scripts_
  size_t readable_ = kReadable;
};

}  // namespace polytop
