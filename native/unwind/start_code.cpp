// SPDX-License-Identifier: Apache-2.0
#include "unwind/start_code.h"

#include <cstring>

#include "arch/arch.h"
#include "arch/start_frames.h"

namespace polytop {

namespace {

/// The rule where so many words lie above the return address.
unwind_rule stackRule(int32_t words) {
  unwind_rule rule{};
  rule.cfa = CFA_SP;
  rule.cfa_offset = words * arch::kWordBytes - arch::kReturnAddressOffset;
  rule.ra_offset = arch::kReturnAddressOffset;
  return rule;
}

/// The rule of a function that has saved its caller's fp above the return address.
unwind_rule savedFpRule() {
  unwind_rule rule = stackRule(1);
  rule.fp = FP_CFA;
  rule.fp_offset = -arch::kFrameBytes;
  return rule;
}

/// Covers a function that begins at a file offset; `framed` is its rule where the word is on the stack.
void cover(UnwindTable& table, FileRules& rules, uint64_t begin, const arch::WordOnStack& word,
           const unwind_rule& framed) {
  const uint32_t plain = rules.intern(stackRule(0));
  const uint64_t end = begin + word.functionEnd;
  coverHole(table, begin, begin + word.begin, plain);
  coverHole(table, begin + word.begin, begin + word.end, rules.intern(framed));
  coverHole(table, begin + word.end, end, plain);
  // It is one function.
  std::erase_if(table.starts, [&](uint64_t start) { return start > begin && start < end; });
}

void coverSection(const ElfImage& image, const char* name, UnwindTable& table, FileRules& rules) {
  const Section* section = image.section(name);
  if (section == nullptr || section->size > arch::kLongestStartCode) return;
  arch::WordOnStack word;
  if (arch::findAlignedFrame(image.content(*section), word)) cover(table, rules, section->offset, word, stackRule(1));
}

void coverFirstDestructor(const ElfImage& image, UnwindTable& table, FileRules& rules) {
  const Section* array = image.section(".fini_array");
  uint64_t address = 0, begin = 0;
  if (array == nullptr) return;
  const std::vector<uint8_t> first = image.read(array->offset, sizeof address);
  if (first.size() < sizeof address) return;
  std::memcpy(&address, first.data(), sizeof address);
  arch::WordOnStack word;
  if (image.addressToOffset(address, begin) &&
      arch::findDestructorFrame(image.read(begin, arch::kLongestStartCode), word))
    cover(table, rules, begin, word, savedFpRule());
}

}  // namespace

void coverStartCode(const ElfImage& image, UnwindTable& table, RuleSet& rules) {
  if (table.rows.empty()) return;
  FileRules own(rules, table.lease);
  for (const char* name : {".init", ".fini"}) coverSection(image, name, table, own);
  coverFirstDestructor(image, table, own);
}

}  // namespace polytop
