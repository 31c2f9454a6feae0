// SPDX-License-Identifier: Apache-2.0
#include "parser/program/parse_file.h"

#include <iterator>
#include <memory>

#include "code/code_rows.h"
#include "code/row_check.h"
#include "dotnet/dotnet_facts.h"
#include "perl/perl_facts.h"
#include "python/python_facts.h"
#include "unwind/start_code.h"
#include "unwind/untold_epilogs.h"
#include "v8/v8_facts.h"

namespace polytop {

namespace {

/// In the order of makeProbes(): the first that finds its runtime has the file.
constexpr RuntimeFinder kFinders[] = {findPerl, findPython, findV8, findDotnet};

/// These walk through the code of their own that has no unwind information.
bool hasOwnCode(RuntimeFinder finder) { return finder == findV8 || finder == findDotnet; }

std::vector<Segment> codeOf(const ElfImage& image) {
  std::vector<Segment> code;
  for (const Segment& segment : image.segments()) {
    if (segment.type == PT_LOAD && (segment.flags & PF_X)) code.push_back(segment);
  }
  return code;
}

/// A 32-bit program: its functions can be named. Null where it is none.
std::unique_ptr<ElfImage> openNarrow(int fd) {
  std::string why;
  return ElfImage::openNarrow(fd, why);
}

}  // namespace

ParsedFile parseFile(int fd, RuleSet& rules) {
  ParsedFile parsed;
  const std::unique_ptr<ElfImage> image = ElfImage::open(fd, parsed.why);
  if (image) {
    parsed.isElf = true;
    parsed.code = codeOf(*image);
    parsed.table = buildUnwindTable(*image, rules);
    mendRows(*image, parsed.table, rules);
    coverStartCode(*image, parsed.table, rules);
    markUntoldEpilogs(*image, parsed.table, rules);
    parsed.why = parsed.table.warning;
  } else if (const std::unique_ptr<ElfImage> narrow = openNarrow(fd)) {
    parsed.isElf = true;
    parsed.code = codeOf(*narrow);
  }
  ProbedFile probed{fd, image.get(), rules, parsed.table, image != nullptr, parsed.why};
  for (uint32_t i = 0; i < std::size(kFinders) && parsed.runtime.runtime == 0; i++) {
    WireWriter facts;
    if (kFinders[i](probed, facts)) parsed.runtime = {i + 1, facts.take()};
  }
  const uint32_t runtime = parsed.runtime.runtime;
  if (image && (runtime == 0 || !hasOwnCode(kFinders[runtime - 1]))) addCodeRows(*image, parsed.table, rules);
  parsed.hasCode = probed.hasCode;
  return parsed;
}

}  // namespace polytop
