// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "code/code_flow.h"

namespace polytop {

/// Something that begins at an offset of a piece.
struct PieceRow {
  uint32_t offset;
  StateSet::Number state;  ///< 0: nothing is known from there on
};

/**
 * The functions in a piece of code, and their frames. What is called or entered by the kernel is a function. What a
 * symbol names or what follows padding is taken for one where it proves itself: all that it does fits, and a way
 * through it ends as a function must.
 */
class CodePiece {
 public:
  /// Whether a function is known to be at an offset, seen from the start of the piece, outside of it.
  using IsFunction = std::function<bool(int64_t)>;

  CodePiece(std::span<const uint8_t> code, uint64_t offset, StateSet& states, FlowMemory& memory, uint64_t& steps,
            IsFunction isFunction);

  /// Where the kernel enters the program: nothing called that code.
  void addEntry(uint32_t offset);
  /// A function that code elsewhere calls.
  void addCalled(uint32_t offset);
  /// A symbol of a function; by ascending offset.
  void addSymbol(uint32_t offset);

  void analyze();

  /// What was found: the state from each offset on, ascending.
  std::vector<PieceRow> rows() const;
  /// Where functions were found.
  std::vector<uint32_t> starts() const;
  /// What is called outside of the piece.
  const std::vector<int64_t>& callsOutside() const { return callsOutside_; }
  /// Where the code is that handlers of signals return to. The byte before it is padding.
  const std::set<uint32_t>& signalReturns() const { return signalReturns_; }
  /// The same right behind other code, which the byte before belongs to: neither rule may be taken for the other.
  const std::set<uint32_t>& joinedReturns() const { return joinedReturns_; }

 private:
  void followCalled();
  bool trySymbols();
  bool scan();
  bool tryPart(uint32_t offset);
  bool tryFunction(uint32_t offset, bool isSymbol);
  bool isTailProven(const FlowFound& found) const;
  bool returnsFromSignal(uint32_t offset);
  bool beginsFrame(uint32_t offset) const;
  void accept(uint32_t function, FlowFound found);
  bool isEntered(uint32_t offset, uint32_t length) const;
  uint32_t behindPadding(uint32_t offset) const;
  uint32_t behindWay(uint32_t offset) const;
  bool isInside(int64_t offset) const { return offset >= 0 && offset < static_cast<int64_t>(code_.size()); }

  std::span<const uint8_t> code_;
  StateSet& states_;
  CodeFlow flow_;
  IsFunction isFunction_;
  std::vector<uint32_t> called_;
  std::vector<uint32_t> symbols_;  ///< and what code takes the address of: neither need be a function
  std::map<uint32_t, std::vector<StateSet::Number>> functions_;  ///< with the states of jumps to where tables say
  std::vector<int64_t> callsOutside_;
  std::vector<FlowFound::Rest> rests_;
  std::set<uint32_t> signalReturns_, joinedReturns_;
};

}  // namespace polytop
