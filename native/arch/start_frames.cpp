// SPDX-License-Identifier: Apache-2.0
#include "arch/start_frames.h"

#include <vector>

#include "arch/bytes_at.h"

namespace polytop::arch {

namespace {

using Bytes = std::vector<uint8_t>;

const Bytes kReturn = {0xc3};
const Bytes kPushFp = {0x55};
const Bytes kPopFp = {0x5d};

/// How code takes a word for alignment, and how it gives that back.
struct Alignment {
  Bytes take;
  Bytes give;
};

const Alignment kAlignments[] = {
    {{0x48, 0x83, 0xec, 0x08}, {0x48, 0x83, 0xc4, 0x08}},  // glibc: sub $8, %rsp; add $8, %rsp
    {{0x50}, {0x58}},                                      // musl: push %rax; pop %rax
};

/// cmpb $0, completed(%rip); jne over the work, by one byte.
const Bytes kCompare = {0x80, 0x3d};
constexpr size_t kCompareBytes = 7;
constexpr uint8_t kJumpNotEqual = 0x75;
constexpr size_t kJumpBytes = 2;

size_t behindEndbr(std::span<const uint8_t> code) { return hasBytes(code, 0, kEndbr) ? kEndbr.size() : 0; }

}  // namespace

bool findAlignedFrame(std::span<const uint8_t> code, WordOnStack& word) {
  const size_t begin = behindEndbr(code);
  for (const auto& [take, give] : kAlignments) {
    if (code.size() < begin + take.size() + give.size() + kReturn.size()) continue;
    const size_t last = code.size() - kReturn.size();
    if (!hasBytes(code, begin, take) || !hasBytes(code, last - give.size(), give) || !hasBytes(code, last, kReturn))
      continue;
    word = {begin + take.size(), last, code.size()};
    return true;
  }
  return false;
}

bool findDestructorFrame(std::span<const uint8_t> code, WordOnStack& word) {
  const size_t begin = behindEndbr(code), jump = begin + kCompareBytes, push = jump + kJumpBytes;
  if (!hasBytes(code, begin, kCompare) || !hasBytes(code, push, kPushFp) || code[jump - 1] != 0 ||
      code[jump] != kJumpNotEqual)
    return false;
  const size_t target = push + code[jump + 1];
  Bytes finish = kPopFp;
  finish.insert(finish.end(), kReturn.begin(), kReturn.end());
  const auto end = std::search(code.begin() + static_cast<ptrdiff_t>(push), code.end(), finish.begin(), finish.end());
  const size_t pop = static_cast<size_t>(end - code.begin());
  // What the jump leads to returns too, behind the work.
  if (end == code.end() || target < pop + finish.size() || !hasBytes(code, target, kReturn)) return false;
  word = {push + kPushFp.size(), pop + kPopFp.size(), target + kReturn.size()};
  return true;
}

}  // namespace polytop::arch
