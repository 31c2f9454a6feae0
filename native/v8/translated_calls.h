// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bpf/abi.h"

namespace polytop {

/// A frame of the interpreter's that compiled code stands for.
struct TranslatedFrame {
  uint64_t name;      ///< of the function
  uint32_t bytecode;  ///< offset in its bytecode
};

/**
 * The calls in what Maglev compiled. It has no table of positions, but V8 can go on with the interpreter at each call:
 * a table by return addresses leads to a translation, which says which frames of the interpreter that takes
 * (V8 13.6 to 14.6: codegen/maglev-safepoint-table.h, deoptimizer/translation-opcode.h).
 */
class TranslatedCalls {
 public:
  /// `functions`: the functions among the literals of the code. `translations`: where the translation of each call
  /// begins, by its number less `firstCall`. `returnBytes`: of the table by return addresses.
  TranslatedCalls(std::span<const v8_inlined> functions, uint32_t firstCall, std::span<const uint32_t> translations,
                  uint32_t returnBytes);

  /// Takes the table by return addresses and the translations behind it.
  void takeTables(std::span<const uint8_t> bytes);
  /// The frames at an offset in the code that a call returns to, innermost first: the last one is of `function`. None
  /// where no such call is known, or what is known of it makes no sense.
  std::vector<TranslatedFrame> framesOf(uint32_t returnsTo, uint64_t function) const;
  size_t bytes() const;

 private:
  struct Call {
    uint32_t returnsTo;
    uint32_t translation;  ///< where in translations_ it begins
  };

  void addCall(uint32_t returnsTo, uint32_t number);
  /// The frame of an operation's function, if that is among the literals.
  std::optional<TranslatedFrame> frameOf(int64_t bytecode, int64_t literal) const;

  std::vector<v8_inlined> functions_;  ///< by ascending literal, which stands for the position
  uint32_t firstCall_;
  uint32_t returnBytes_;
  std::vector<uint32_t> starts_;
  std::vector<Call> calls_;  ///< by ascending offset
  std::vector<uint8_t> translations_;
};

}  // namespace polytop
