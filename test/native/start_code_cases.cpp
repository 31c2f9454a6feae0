// SPDX-License-Identifier: Apache-2.0
//
// The code that every program begins and ends with, met by its instructions. Exits with 1 if a check failed.
#include <vector>

#include "arch/start_frames.h"
#include "check.h"

namespace {

using namespace polytop;

void testStartCode() {
  using Bytes = std::vector<uint8_t>;
  const auto aligned = [](const Bytes& code, size_t begin, size_t end) {
    arch::WordOnStack word;
    return arch::findAlignedFrame(code, word) && word.begin == begin && word.end == end &&
           word.functionEnd == code.size();
  };
  arch::WordOnStack word;
  check(aligned({0x48, 0x83, 0xec, 8, 0x90, 0x48, 0x83, 0xc4, 8, 0xc3}, 4, 9), "glibc's .init");
  check(aligned({0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 8, 0x48, 0x83, 0xc4, 8, 0xc3}, 8, 12), "with endbr64");
  check(aligned({0x50, 0x90, 0x58, 0xc3}, 1, 3), "musl's .init");
  for (const Bytes& code : {Bytes{}, Bytes{0x50}, Bytes{0x50, 0x58}, Bytes{0x58, 0xc3}, Bytes{0x50, 0x90, 0xc3},
                            Bytes{0x48, 0x83, 0xec, 8, 0xc3}, Bytes{0x48, 0x83, 0xec, 16, 0x48, 0x83, 0xc4, 16, 0xc3}})
    check(!arch::findAlignedFrame(code, word), "no frame that is known");

  // cmpb, jne +4, push %rbp, nop, pop %rbp, ret, ret
  Bytes destructor = {0x80, 0x3d, 1, 2, 3, 4, 0, 0x75, 4, 0x55, 0x90, 0x5d, 0xc3, 0xc3, 0x90};
  check(arch::findDestructorFrame(destructor, word) && word.begin == 10 && word.end == 12 && word.functionEnd == 14,
        "the first destructor");
  for (size_t size = 0; size < 14; size++)
    check(!arch::findDestructorFrame(std::span(destructor).first(size), word), "a part of it");
  destructor[8] = 3;
  check(!arch::findDestructorFrame(destructor, word), "a jump into the work");
  destructor[8] = 0xff;
  check(!arch::findDestructorFrame(destructor, word), "a jump to nowhere");
}

}  // namespace

int main() {
  testStartCode();
  return reportChecks();
}
