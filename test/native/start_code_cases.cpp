// SPDX-License-Identifier: Apache-2.0
//
// The code that every program begins and ends with, met by its instructions. Exits with 1 if a check failed.
#include <memory>
#include <string>
#include <vector>

#include "arch/plt.h"
#include "arch/start_frames.h"
#include "check.h"
#include "elf_file.h"
#include "table_search.h"
#include "unwind/start_code.h"

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

/// A file with a linkage table as lld writes it, of so many entries, at an offset.
void testLinkageTable() {
  using Bytes = std::vector<uint8_t>;
  constexpr uint64_t kAt = 0x1ff0, kEntries = 300;
  Bytes code = {0xff, 0x35, 1, 2, 3, 4, 0xff, 0x25, 1, 2, 3, 4, 0x0f, 0x1f, 0x40, 0};
  for (uint64_t i = 1; i < kEntries; i++)
    for (const uint8_t byte : Bytes{0xff, 0x25, 1, 2, 3, 4, 0x68, 5, 0, 0, 0, 0xe9, 1, 2, 3, 4}) code.push_back(byte);
  const auto cover = [&](UnwindTable& table, RuleSet& rules) {
    LyingElf elf;
    elf.addSegment(PT_LOAD, PF_R | PF_X, 0x1000, 0x401000, 0x4000);
    elf.file.put(kAt, code);
    elf.addSection(".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x400000 + kAt, kAt, code.size());
    elf.finish(0x10000);
    std::string why;
    const std::unique_ptr<ElfImage> image = ElfImage::open(elf.file.fd(), why);
    check(image != nullptr, "a file");
    table.pages = {{1, 0, 1}};
    table.rows = {kNoRule << ROW_OFFSET_BITS};
    table.starts = {0x1000};
    coverStartCode(*image, table, rules);
  };
  RuleSet rules;
  UnwindTable table;
  cover(table, rules);
  const auto at = [&](uint64_t offset) { return rules.all()[ruleAt(table, kAt + offset)]; };
  check(at(0).cfa == CFA_SP && at(0).cfa_offset == 16, "the first entry, before its push");
  check(at(6).cfa == CFA_SP && at(15).cfa_offset == 24, "and behind it");
  for (const uint64_t offset : {uint64_t{16}, uint64_t{27}, 16 * kEntries - 1})
    check(at(offset).cfa == CFA_PLT && at(offset).cfa_offset == 11, "another entry, on whatever page");
  check(ruleAt(table, kAt + 16 * kEntries) == kNoRule, "and nothing behind them");
  check(startAt(table, kAt + 100) == kAt, "they are one piece of code");
  check(gapsOf(table) == std::vector<uint64_t>({0x1000, kAt + 16 * kEntries}), "gaps are what has no rule");
  code[16 * 7] = 0x90;
  UnwindTable other;
  cover(other, rules);
  check(ruleAt(other, kAt) == kNoRule, "a table that looks otherwise is left alone");
}

void testStubs() {
  using Bytes = std::vector<uint8_t>;
  const auto slotOf = [](const Bytes& code) {
    const auto stub = arch::readPltStub(code, 0x1000);
    return stub ? stub->slot : 1;
  };
  check(slotOf({0xff, 0x25, 0x10, 0, 0, 0, 0x68, 1, 0, 0, 0}) == 0x1016, "a stub");
  check(slotOf({0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xf5, 0xff, 0xff, 0xff}) == 0x1000, "one for CET");
  check(slotOf({0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xbb, 1, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0}) == 0x1010, "mold's");
  check(arch::readPltStub(Bytes{0xf3, 0x0f, 0x1e, 0xfa, 0x68, 7, 0, 0, 0}, 0)->relocation == 7, "one by its number");
  for (const Bytes& code : {Bytes{}, Bytes{0xff, 0x25, 1, 2, 3}, Bytes{0xff, 0x35, 1, 2, 3, 4}, Bytes{0x68, 1}})
    check(slotOf(code) == 1, "none");
}

}  // namespace

int main() {
  testStartCode();
  testLinkageTable();
  testStubs();
  return reportChecks();
}
