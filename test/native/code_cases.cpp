// SPDX-License-Identifier: Apache-2.0
//
// Instructions and functions with known frames; exits with 1 if a check failed.
#include <algorithm>
#include <initializer_list>
#include <vector>

#include "check.h"
#include "code/code_piece.h"

namespace {

using namespace polytop;
using arch::Effect;

using Code = std::vector<uint8_t>;

void testInstructions() {
  const auto is = [](const Code& code, Effect effect, size_t length, int32_t value = 0) {
    const arch::Instruction it = arch::decode(code);
    return it.effect == effect && it.length == length && it.value == value;
  };
  check(is({0x55}, Effect::kPushFp, 1) && is({0x41, 0x55}, Effect::kPush, 2), "push");
  check(is({0x5d}, Effect::kPopFp, 1) && is({0x5b}, Effect::kPop, 1) && is({0x5c}, Effect::kLoseSp, 1), "pop");
  check(is({0x48, 0x83, 0xec, 0x18}, Effect::kMoveSp, 4, -24), "room on the stack");
  check(is({0x48, 0x81, 0xc4, 0, 1, 0, 0}, Effect::kMoveSp, 7, 256), "and its end");
  check(is({0x48, 0x8d, 0x64, 0x24, 0xf8}, Effect::kMoveSp, 5, -8), "by lea");
  check(is({0x48, 0x89, 0xe5}, Effect::kFpFromSp, 3) && is({0x48, 0x8b, 0xec}, Effect::kFpFromSp, 3), "a frame");
  check(is({0x48, 0x8d, 0x65, 0xd8}, Effect::kSpFromFp, 4, -40), "back to where registers are saved");
  check(is({0x48, 0x83, 0xe4, 0xe0}, Effect::kAlignSp, 4), "alignment");
  check(is({0x48, 0x89, 0x6c, 0x24, 0x10}, Effect::kStoreFp, 5, 16), "fp stored");
  check(is({0x31, 0xed}, Effect::kZeroFp, 2) && is({0x89, 0xc5}, Effect::kLoseFp, 2), "fp overwritten");
  check(is({0x40, 0x0f, 0x94, 0xc5}, Effect::kLoseFp, 4) && is({0x0f, 0x94, 0xc5}, Effect::kNone, 3), "a byte of fp");
  check(is({0xe8, 1, 0, 0, 0}, Effect::kCall, 5, 6) && is({0x74, 0xfe}, Effect::kBranch, 2), "where they go");
  check(is({0xe9, 0xff, 0xff, 0xff, 0x7f}, Effect::kJump, 5, INT32_MAX), "a jump over 2 GB");
  check(is({0xff, 0x25, 0, 0, 0, 0}, Effect::kLinkedJump, 6) && is({0xff, 0xe0}, Effect::kIndirectJump, 2), "or not");
  check(is({0xc5, 0xf9, 0x6e, 0xed}, Effect::kNone, 4), "a vector register of the number of fp");
  check(is({0x62, 0xf1, 0x7c, 0x48, 0x28, 0x44, 0x24, 0x01}, Effect::kNone, 8), "EVEX with a displacement");
  check(is({0x06}, Effect::kInvalid, 0) && is({0x48, 0x83, 0xec}, Effect::kInvalid, 0), "what is none, or cut");
  check(is({0xf3, 0x0f, 0x1e, 0xfa}, Effect::kNothing, 4) && is({0x0f, 0x0b}, Effect::kEnd, 2), "landings and ends");
}

/// The depth at an offset of a piece with one function at 0; 0 where nothing is known.
struct Piece {
  explicit Piece(const Code& code, std::initializer_list<uint32_t> called = {0}) : code(code) {
    CodePiece piece(this->code, 0, states, memory, steps, [](int64_t) { return false; });
    for (const uint32_t offset : called) piece.addCalled(offset);
    piece.analyze();
    rows = piece.rows();
  }
  FrameState at(uint32_t offset) const {
    StateSet::Number found = 0;
    for (const PieceRow& row : rows) {
      if (row.offset <= offset) found = row.state;
    }
    FrameState none;
    none.depth = 0;
    return found == 0 ? none : states[found];
  }

  Code code;
  StateSet states;
  FlowMemory memory;
  uint64_t steps = 100'000;
  std::vector<PieceRow> rows;
};

void testFunctions() {
  const Piece framed({0x55, 0x48, 0x89, 0xe5, 0x48, 0x29, 0xc4, 0xc9, 0xc3});
  check(framed.at(0).depth == 8 && framed.at(1).depth == 16 && framed.at(4).fp == FpHolds::kFrame, "a frame by fp");
  check(framed.at(7).depth == FrameState::kUnknown && framed.at(8).isStart(), "room of a size that varies");

  // push %rbx; test; je +2; pop; ret; call *%rax; pop; ret
  const Piece branch({0x53, 0x85, 0xff, 0x74, 0x02, 0x5b, 0xc3, 0xff, 0xd0, 0x5b, 0xc3});
  check(branch.at(7).depth == 16 && branch.at(9).depth == 16 && branch.at(10).depth == 8, "behind a branch and a call");

  // A jump into the middle, and one way pushes more than the other.
  const Piece differing({0x85, 0xff, 0x74, 0x01, 0x53, 0x90, 0xc3});
  check(differing.at(0).depth == 0, "two depths at one place: no rows");
  // push %rbp; call *%rax; pop %rbp; ret. Functions written in assembly may not give fp back to one another.
  const unwind_rule saved = ruleOf(Piece({0x55, 0xff, 0xd0, 0x5d, 0xc3}).at(3));
  check(saved.cfa == CFA_SP && saved.fp == FP_CFA && saved.fp_offset == -16, "fp that was saved");
  check(Piece({0x5b, 0xc3}).at(0).depth == 0, "a return address that is taken off");
  check(Piece({0x31, 0xed, 0xc3}).at(0).depth == 0, "fp that is not given back");
  check(Piece({0x48, 0x89, 0xc4, 0xc3}).at(0).depth == 0, "another stack");
  check(Piece({0x06, 0xc3}).at(0).depth == 0, "what is no instruction");

  // push; jne 10; pop; ret; an instruction of padding, of whose fourth byte on there are a pop and a return.
  const Piece inside({0x53, 0x75, 0x05, 0x5b, 0xc3, 0x0f, 0x1f, 0x40, 0x5b, 0xc3});
  check(inside.at(3).depth == 16 && inside.at(8).depth != 8, "a jump into padding");

  // push; call +2 (what never returns); pop %rbp, which is another function's; its own end behind a jump.
  const Piece never({0x53, 0x74, 0x07, 0xe8, 0x00, 0x10, 0x00, 0x00, 0x5b, 0x5b, 0x5b, 0xc3});
  check(never.at(3).depth == 16 && never.at(8).depth == 0 && never.at(10).depth == 16,
        "behind a call that never returns");

  // A system call that makes a thread, which marks the end of its stack.
  const Piece thread({0x0f, 0x05, 0x85, 0xc0, 0x75, 0x06, 0x31, 0xed, 0xff, 0xd0, 0xf4, 0x90, 0xc3});
  check(thread.at(0).depth == 8 && thread.at(8).isEnd && !thread.at(12).isEnd, "the first function of a thread");
}

void testGuesses() {
  const auto padded = [](std::initializer_list<Code> functions) {
    Code code;
    for (const Code& function : functions) {
      code.insert(code.end(), function.begin(), function.end());
      while (code.size() % 16 != 0) code.push_back(0x90);
    }
    return code;
  };
  // What nothing calls: a call where sp is aligned as compilers do it, and one with the state of the middle of a
  // function.
  const Piece aligned(padded({{0xc3}, {0x50, 0xe8, 0, 0x10, 0, 0, 0x58, 0xc3}}));
  check(aligned.at(16).depth == 8 && aligned.at(17).depth == 16, "a function that nothing calls");
  check(Piece(padded({{0xc3}, {0xe8, 0, 0x10, 0, 0, 0xc3}})).at(16).depth == 0, "and the middle of one");

  // push; je 16; push; a call that never returns; a call that is come to from elsewhere; pop; ret.
  const Piece other({0x53, 0x85, 0xff, 0x74, 0x0b, 0x50, 0xe8, 0, 0x10, 0, 0, 0xe8, 0, 0x10, 0, 0, 0x5b, 0xc3});
  check(other.at(6).depth == 24 && other.at(11).depth == 0 && other.at(16).depth == 16,
        "behind a call there is another frame than what the next call would return to");

  // Stubs that jump to functions of other files, and a function that ends with a jump to one of them.
  const Code stub = {0xff, 0x25, 0, 0, 0, 0};
  const Piece tail(padded({stub, stub, {0x89, 0xf7, 0xe9, 0xe9, 0xff, 0xff, 0xff}}));
  check(tail.at(16).depth == 8 && tail.at(32).depth == 8, "a function that is a jump to another");
}

void testNeverReturning() {
  // push; call; 6: test; je 15; call exit; 15: call; jmp 6; padding; another function.
  Code code = {0x53, 0xe8, 0, 0x10, 0, 0, 0x85, 0xc0, 0x74, 0x05, 0xe8, 0, 0x10, 0, 0, 0xe8, 0, 0x10, 0, 0, 0xeb, 0xf0};
  code.resize(32, 0x90);
  code.push_back(0xc3);
  const Piece whole(code, {0, 32});
  check(whole.at(6).depth == 16 && whole.at(15).depth == 16 && whole.at(20).depth == 16,
        "a function that ends in exit, and has calls that return");
  // call exit becomes push; pop; push; call *%rax: what lies behind it would have two frames.
  std::copy_n(std::begin({0x50, 0x58, 0x50, 0xff, 0xd0}), 5, code.begin() + 10);
  check(Piece(code, {0, 32}).at(15).depth == 0, "two frames at one place of it");
}

void testCost() {
  // 2 MB that do nothing, with a symbol at each byte: each is tried, and the steps end that.
  const Code nops(2 << 20, 0x90);
  StateSet states;
  FlowMemory memory;
  uint64_t steps = 1 << 20;
  CodePiece piece(nops, 0, states, memory, steps, [](int64_t) { return false; });
  for (uint32_t at = 0; at < nops.size(); at++) piece.addSymbol(at);
  piece.analyze();
  check(steps == 0 || piece.rows().empty(), "code without an end");
}

}  // namespace

int main() {
  testInstructions();
  testFunctions();
  testGuesses();
  testNeverReturning();
  testCost();
  return reportChecks();
}
