// SPDX-License-Identifier: Apache-2.0
//
// Prints the unwind rows of ELF files, for tests and for people.
//
//   dump_unwind [--stats] [--repeat N] [--no-sections] [--mend] [--code] FILE... | vdso
//
// Without --stats: "# source=... fdes=... warning=..." and then a line for each row,
//   <file offset, hex> <rule>
// where rule is "none", "unsupported", "end", "signal+<n>", "plt/<n>" or "<cfa> rbp=<rbp> ra=<n>" with
//   cfa  rsp+8, rbp+16, r10+0, *(rsp+8)+0, *(rbp-8)+0        rbp  same, c-16, *(rbp+0), undefined
// With --stats: one line for each file; --repeat takes the fastest of N builds. --no-sections reads the file as if
// its section headers had been removed. --mend: with rows that their instructions contradict mended. --code: with rows
// made of instructions where there are no others.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "code/code_rows.h"
#include "code/row_check.h"
#include "mapped/vdso.h"
#include "unwind/unwind_table.h"

namespace {

using polytop::RuleSet;
using polytop::UnwindTable;

std::string number(int64_t value) { return (value < 0 ? "" : "+") + std::to_string(value); }

std::string ruleText(const unwind_rule& rule, bool needsBase) {
  std::string text;
  switch (rule.cfa) {
    case CFA_NONE:
      return "none";
    case CFA_UNSUPPORTED:
      return "unsupported";
    case CFA_END:
      return "end";
    case CFA_SIGNAL:
      return "signal" + number(rule.cfa_offset);
    case CFA_PLT:
      text = "plt/" + std::to_string(rule.cfa_offset);
      break;
    case CFA_SP:
    case CFA_START:
      text = "rsp" + number(rule.cfa_offset);
      break;
    case CFA_FP:
    case CFA_OTHER_STACK:
      text = "rbp" + number(rule.cfa_offset);
      break;
    case CFA_BASE:
      text = "rbx" + number(rule.cfa_offset);
      break;
    case CFA_REGISTER:
      text = "r" + std::to_string(rule.cfa_register) + number(rule.cfa_offset);
      break;
    case CFA_DEREF_SP:
      text = "*(rsp" + number(rule.cfa_offset) + ")" + number(rule.cfa_addend);
      break;
    case CFA_DEREF_BASE:
      text = "*(rbx" + number(rule.cfa_offset) + ")" + number(rule.cfa_addend);
      break;
    case CFA_DEREF_TWICE:
      text = "*(*(rsp" + number(rule.cfa_offset) + ")" + number(rule.cfa_register) + ")" + number(rule.cfa_addend);
      break;
    case CFA_GO_CALLS_C:
      text = "goroutine(rsp" + number(rule.cfa_offset) + ")" + number(rule.cfa_addend);
      break;
    case CFA_GO_WORKS_FOR:
      text = "goroutine(tp" + number(rule.cfa_offset) + number(rule.cfa_register) + number(rule.fp_offset) +
             number(rule.cfa_addend) + ")+8";
      break;
    case CFA_ELSEWHERE:
      return "elsewhere";
    case CFA_DEREF_FP:
      text = "*(rbp" + number(rule.cfa_offset) + ")" + number(rule.cfa_addend);
      break;
  }
  text += " rbp=";
  switch (rule.fp) {
    case FP_SAME:
      text += "same";
      break;
    case FP_CFA:
      text += "c" + number(rule.fp_offset);
      break;
    case FP_DEREF_FP:
      text += "*(rbp" + number(rule.fp_offset) + ")";
      break;
    default:
      text += "undefined";
  }
  if (needsBase && rule.base == BASE_SAME) text += " rbx=same";
  if (needsBase && rule.base > BASE_SAME) text += " rbx=c" + number(-8 * int64_t{rule.base});
  if (rule.ra_register) return text + " ra=r" + std::to_string(rule.ra_register - 1);
  return text + " ra=c" + number(rule.ra_offset);
}

struct Build {
  UnwindTable table;
  std::vector<unwind_rule> rules;
  double milliseconds = 0;
  std::string error;
};

// A copy of the file without its section headers.
std::vector<uint8_t> withoutSections(const polytop::ElfImage& image) {
  std::vector<uint8_t> bytes = image.read(0, image.fileSize());
  const uint64_t none = 0;
  std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_shoff), &none, sizeof none);
  return bytes;
}

Build buildOnce(const char* path, bool sections, bool mend, bool code) {
  Build result;
  RuleSet rules;
  const auto start = std::chrono::steady_clock::now();
  if (std::strcmp(path, "vdso") == 0) {
    const auto vdso = polytop::findVdso();
    const auto image = polytop::ElfImage::openMemory(vdso.data(), vdso.size(), result.error);
    if (image != nullptr) result.table = polytop::buildUnwindTable(*image, rules);
  } else {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
      result.error = std::strerror(errno);
      return result;
    }
    auto image = polytop::ElfImage::open(fd, result.error);
    std::vector<uint8_t> bytes;
    if (image != nullptr && !sections) {
      bytes = withoutSections(*image);
      image = polytop::ElfImage::openMemory(bytes.data(), bytes.size(), result.error);
    }
    if (image != nullptr) result.table = polytop::buildUnwindTable(*image, rules);
    if (image != nullptr && mend) polytop::mendRows(*image, result.table, rules);
    if (image != nullptr && code) polytop::addCodeRows(*image, result.table, rules);
    close(fd);
  }
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  result.milliseconds = spent.count();
  result.rules = rules.all();
  result.table.lease = {};  // the set ends here
  return result;
}

void printRows(const Build& build) {
  const UnwindTable& table = build.table;
  std::printf("# source=%s fdes=%" PRIu64 " warning=%s\n", table.source.c_str(), table.fdeCount, table.warning.c_str());
  std::vector<std::string> texts;
  // Small files tell the base always; it is printed where some rule needs it.
  const bool needsBase = std::any_of(build.rules.begin(), build.rules.end(), [](const unwind_rule& rule) {
    return rule.cfa == CFA_BASE || rule.cfa == CFA_DEREF_BASE;
  });
  for (const unwind_rule& rule : build.rules) texts.push_back(ruleText(rule, needsBase));
  for (const polytop::PageRows& page : table.pages) {
    for (uint32_t i = page.first; i < page.first + page.count; i++) {
      const uint64_t offset = (static_cast<uint64_t>(page.page) << ROW_OFFSET_BITS) | (table.rows[i] & ROW_OFFSET_MASK);
      std::printf("%" PRIx64 " %s\n", offset, texts[table.rows[i] >> ROW_OFFSET_BITS].c_str());
    }
  }
}

void printStatistics(const char* path, const Build& build) {
  const UnwindTable& table = build.table;
  std::set<uint32_t> used;
  uint32_t largest = 0;
  std::map<uint8_t, uint64_t> kinds;
  for (const polytop::PageRows& page : table.pages) largest = std::max(largest, page.count);
  for (const uint32_t row : table.rows) {
    used.insert(row >> ROW_OFFSET_BITS);
    kinds[build.rules[row >> ROW_OFFSET_BITS].cfa]++;
  }
  std::printf("%s source=%s fdes=%" PRIu64 " starts=%zu rows=%zu rules=%zu pages=%zu largest-page=%u bytes=%zu ms=%.2f",
              path, table.source.c_str(), table.fdeCount, table.starts.size(), table.rows.size(), used.size(),
              table.pages.size(), largest, table.rows.size() * 4 + table.pages.size() * sizeof(page_entry),
              build.milliseconds);
  static const char* const kNames[] = {"none",      "rsp", "rbp",    "register", "deref-rsp",
                                       "deref-rbp", "plt", "signal", "end",      "unsupported"};
  for (const auto& [kind, count] : kinds) std::printf(" %s=%" PRIu64, kNames[kind], count);
  std::printf(" warning=%s\n", table.warning.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  bool statistics = false;
  bool sections = true;
  bool mend = false;
  bool code = false;
  int repeat = 1;
  int status = 0;
  for (int i = 1; i < argc; i++) {
    if (std::strcmp(argv[i], "--stats") == 0) {
      statistics = true;
      continue;
    }
    if (std::strcmp(argv[i], "--no-sections") == 0) {
      sections = false;
      continue;
    }
    if (std::strcmp(argv[i], "--mend") == 0) {
      mend = true;
      continue;
    }
    if (std::strcmp(argv[i], "--code") == 0) {
      code = true;
      continue;
    }
    if (std::strcmp(argv[i], "--repeat") == 0 && i + 1 < argc) {
      repeat = std::atoi(argv[++i]);
      continue;
    }
    Build build = buildOnce(argv[i], sections, mend, code);
    for (int again = 1; again < repeat; again++) {
      Build next = buildOnce(argv[i], sections, mend, code);
      if (next.milliseconds < build.milliseconds) build = std::move(next);
    }
    if (!build.error.empty()) {
      std::fprintf(stderr, "%s: %s\n", argv[i], build.error.c_str());
      status = 1;
    } else if (statistics) {
      printStatistics(argv[i], build);
    } else {
      printRows(build);
    }
  }
  if (statistics) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0) std::printf("# peak resident KB %ld\n", usage.ru_maxrss);
  }
  return status;
}
