// SPDX-License-Identifier: Apache-2.0
#include "unwind/start_code.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "arch/arch.h"
#include "arch/plt.h"
#include "arch/start_frames.h"

namespace polytop {

namespace {

constexpr uint64_t kMaxLinkageTable = 4 << 20, kLargestVdso = 64 << 10;

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

/// The linkage table of a file that lld linked: other linkers write an entry for it.
void coverLinkageTable(const ElfImage& image, UnwindTable& table, FileRules& rules) {
  const Section* section = image.section(".plt");
  if (section == nullptr || section->size > kMaxLinkageTable) return;
  const std::optional<arch::PltLayout> layout = arch::readPltLayout(image.content(*section));
  if (!layout) return;
  unwind_rule entry = stackRule(0);
  entry.cfa = CFA_PLT;
  entry.cfa_offset = layout->threshold;
  const uint64_t begin = section->offset, end = begin + section->size;
  coverPages(table, begin, begin + layout->firstPush, rules.intern(stackRule(1)));
  coverPages(table, begin + layout->firstPush, begin + layout->entries, rules.intern(stackRule(2)));
  coverPages(table, begin + layout->entries, end, rules.intern(entry));
  std::erase_if(table.starts, [&](uint64_t start) { return start > begin && start < end; });
}

/// Code of the vDSO that keeps all in registers, and comes without entries: __arch_chacha20_blocks_nostack() behind
/// getrandom() (vgetrandom-chacha.S of Linux 6.11 and later).
void coverVdso(const ElfImage& image, UnwindTable& table, FileRules& rules) {
  const Section* text = image.section(".text");
  const Section* names = image.section(".dynstr");
  if (text == nullptr || names == nullptr || image.fileSize() > kLargestVdso) return;
  const std::vector<uint8_t> bytes = image.content(*names);
  constexpr std::string_view kFunction = "__vdso_getrandom";
  if (std::search(bytes.begin(), bytes.end(), kFunction.begin(), kFunction.end()) == bytes.end()) return;
  const uint32_t rule = rules.intern(stackRule(0));
  const uint64_t end = text->offset + text->size;
  const std::vector<uint64_t> starts = table.starts;
  for (size_t i = 0; i < starts.size(); i++) {
    const uint64_t next = i + 1 < starts.size() ? std::min(starts[i + 1], end) : end;
    if (starts[i] >= text->offset) coverPages(table, starts[i], next, rule);
  }
}

}  // namespace

void coverStartCode(const ElfImage& image, UnwindTable& table, RuleSet& rules) {
  if (table.rows.empty()) return;
  FileRules own(rules, table.lease);
  for (const char* name : {".init", ".fini"}) coverSection(image, name, table, own);
  coverFirstDestructor(image, table, own);
  coverLinkageTable(image, table, own);
  coverVdso(image, table, own);
}

}  // namespace polytop
