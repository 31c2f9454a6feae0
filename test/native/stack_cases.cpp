// SPDX-License-Identifier: Apache-2.0
//
// Which stacks are one where stacks of the same functions are. Exits with 1 if a check failed.
#include <vector>

#include "check.h"
#include "drain/stacks.h"

namespace {

using namespace polytop;

constexpr uint32_t kHonest = 10, kOther = 20;
/// Some number of a function, and a number of a method: they are the same in all processes.
constexpr uint32_t kFunction = 7, kMethod = 8;

uint64_t codeAt(uint64_t offset) { return uint64_t{1} << FRAME_FILE_SHIFT | offset; }
uint64_t compiledAt(uint64_t address) { return uint64_t{FRAME_DOTNET} << FRAME_KIND_SHIFT | address; }

/// Numbers a stack of one frame in a process, whose function has a number. Returns the number of the stack.
uint32_t numberOf(Stacks& stacks, uint32_t process, uint64_t frame, uint32_t function) {
  static uint64_t hash = 0;
  stack_record record = {};
  record.type = RECORD_STACK;
  record.tgid = process;
  record.hash = ++hash;
  record.frame_count = 1;
  stacks.add(record, &frame);
  stacks.number(std::vector<Stacks::FrameFacts>(stacks.newFrames().size(), {function, {}}));
  return stacks.find(record.hash).number;
}

void testFunctionsOfFiles() {
  Stacks stacks;
  stacks.mergeByFunction();
  const uint32_t first = numberOf(stacks, kHonest, codeAt(0x1000), kFunction);
  check(numberOf(stacks, kHonest, codeAt(0x1008), kFunction) == first, "one function, wherever in it");
  check(numberOf(stacks, kOther, codeAt(0x1010), kFunction) == first, "in whatever process");
  check(numberOf(stacks, kHonest, codeAt(0x2000), kFunction + 1) != first, "no other function");
  check(stacks.take().functions.size() == 2, "a frame for each function");
}

/// What a frame of a process means may change later, and then nobody else's does.
void testMethods() {
  Stacks stacks;
  stacks.mergeByFunction();
  const uint32_t first = numberOf(stacks, kHonest, compiledAt(0x10000), kMethod);
  check(numberOf(stacks, kOther, compiledAt(0x20000), kMethod) != first, "a stack for each process");
  const Stacks::News news = stacks.take();
  check(news.functions == std::vector<uint32_t>{kMethod, kMethod}, "with the number of its method");
  check(news.owners == std::vector<uint32_t>{kHonest, kOther}, "and a frame of its own");
}

void testAddresses() {
  Stacks stacks;
  const uint32_t first = numberOf(stacks, kHonest, codeAt(0x1000), kFunction);
  check(numberOf(stacks, kHonest, codeAt(0x1008), kFunction) != first, "each address alone where nobody asks for less");
}

}  // namespace

int main() {
  testFunctionsOfFiles();
  testMethods();
  testAddresses();
  return reportChecks();
}
