// SPDX-License-Identifier: Apache-2.0
//
// Compares rows that are made of instructions with those that a file's own table has, instruction by instruction.
//
//   compare_code [--show N] FILE...
//
// For each file: instructions=N told=N (with rows of instructions) equal=N functions=N covered=N (of which the first
// instruction is told) parts=N coveredParts=N (what has an entry of its own in the table and begins with the frame of a
// function that jumps there: code that is seldom run); with --show the first N that differ, as
// `offset: table's rule | rule of instructions`, and the first N functions that are not covered.
#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "arch/arch.h"
#include "arch/instruction.h"
#include "code/code_holes.h"
#include "code/code_rows.h"
#include "unwind/unwind_table.h"

namespace {

using namespace polytop;

struct Compared {
  uint64_t instructions = 0, told = 0, equal = 0, functions = 0, covered = 0, parts = 0, coveredParts = 0;
};

bool isFunction(const unwind_rule& first) {
  return first.cfa == CFA_END || first.cfa == CFA_START || first.cfa == CFA_PLT ||
         (first.cfa == CFA_SP && first.cfa_offset == -arch::kReturnAddressOffset);
}

/// Whether two rules find the same caller. One may say where fp was saved where it still holds, or holds again, that
/// value.
bool isSameCaller(unwind_rule table, const unwind_rule& made, uint64_t offset) {
  if (table.cfa == CFA_PLT) {
    // An entry has 16 bytes; a word more is on the stack from one of them on.
    const bool isPushed = static_cast<int32_t>(offset % 16) >= table.cfa_offset;
    table.cfa = CFA_SP;
    table.cfa_offset = isPushed ? 16 : 8;
  }
  if (table.cfa == CFA_END || made.cfa == CFA_END || table.cfa == CFA_SIGNAL) return table.cfa == made.cfa;
  if (table.cfa != made.cfa || table.cfa_offset != made.cfa_offset || table.ra_offset != made.ra_offset) return false;
  if (made.fp == FP_SAME && table.fp == FP_CFA) return true;
  if (table.fp == FP_SAME && made.fp == FP_CFA) return true;
  return table.fp == made.fp && table.fp_offset == made.fp_offset;
}

void show(uint64_t offset, const unwind_rule& table, const unwind_rule& made) {
  std::printf("  %" PRIx64 ": cfa %d%+d fp %d%+d | cfa %d%+d fp %d%+d\n", offset, table.cfa, table.cfa_offset, table.fp,
              table.fp_offset, made.cfa, made.cfa_offset, made.fp, made.fp_offset);
}

Compared compare(const ElfImage& image, uint64_t shown) {
  RuleSet rules;
  const UnwindTable table = buildUnwindTable(image, rules);
  UnwindTable made;
  addCodeRows(image, made, rules);
  const std::vector<unwind_rule> all = rules.all();
  const std::vector<uint8_t> bytes = image.read(0, image.fileSize());
  RowCursor ofTable(table), ofMade(made);
  Compared compared;
  uint64_t missing = shown;
  for (size_t i = 0; i < table.starts.size(); i++) {
    const uint64_t last = i + 1 < table.starts.size() ? table.starts[i + 1] : bytes.size();
    uint64_t end = 0;
    for (uint64_t at = table.starts[i]; at < last && at < bytes.size();) {
      const uint32_t theirs = ofTable.ruleAt(at, end);
      if (theirs == kNoRule) break;
      const arch::Instruction instruction = arch::decode(std::span(bytes).subspan(at));
      if (instruction.length == 0) break;
      const bool isPadding = instruction.effect == arch::Effect::kNothing;
      const uint32_t ours = ofMade.ruleAt(at, end);
      if (at == table.starts[i]) {
        const bool isPart = !isFunction(all[theirs]), isCovered = ours != kNoRule;
        (isPart ? compared.parts : compared.functions)++;
        (isPart ? compared.coveredParts : compared.covered) += isCovered;
        if (!isPart && !isCovered && missing > 0) {
          std::printf("  %" PRIx64 ": a function without rules\n", at);
          missing--;
        }
      }
      if (theirs != kUnsupportedRule && !isPadding) {
        compared.instructions++;
        compared.told += ours != kNoRule;
        const bool isEqual = ours != kNoRule && isSameCaller(all[theirs], all[ours], at);
        compared.equal += isEqual;
        if (ours != kNoRule && !isEqual && shown > 0) {
          show(at, all[theirs], all[ours]);
          shown--;
        }
      }
      at += instruction.length;
    }
  }
  return compared;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t shown = 0;
  int status = 0;
  for (int i = 1; i < argc; i++) {
    if (std::strcmp(argv[i], "--show") == 0 && i + 1 < argc) {
      shown = std::strtoull(argv[++i], nullptr, 10);
      continue;
    }
    std::string error;
    const int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
    const auto image = ElfImage::open(fd, error);
    if (!image) {
      std::fprintf(stderr, "%s: %s\n", argv[i], error.c_str());
      status = 1;
      continue;
    }
    const Compared it = compare(*image, shown);
    std::printf("%s instructions=%" PRIu64 " told=%" PRIu64 " equal=%" PRIu64 " functions=%" PRIu64 " covered=%" PRIu64
                " parts=%" PRIu64 " coveredParts=%" PRIu64 "\n",
                argv[i], it.instructions, it.told, it.equal, it.functions, it.covered, it.parts, it.coveredParts);
    close(fd);
  }
  return status;
}
