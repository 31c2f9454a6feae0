// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elf/elf_image.h"
#include "unwind/rule_set.h"
#include "unwind/unwind_table.h"
#include "util/wire.h"

namespace polytop {

/// A file whose table was built: what is searched for a runtime, and what of it that may add to.
struct ProbedFile {
  int fd = -1;
  const ElfImage* image = nullptr;  ///< null: it is no ELF file
  RuleSet& rules;
  UnwindTable& table;    ///< the rows of `image`; a finder may append those of its own code
  bool hasCode = false;  ///< it is an ELF file, or a finder found code to unwind in it
  std::string& why;      ///< what is wrong with the file, empty if nothing is
};

/// Looks for a runtime in a file. Returns false where there is none; else writes what its probe (files/probe.h) reads.
using RuntimeFinder = bool (*)(ProbedFile& file, WireWriter& facts);

/// The runtime in a file, as its finder wrote it.
struct RuntimeFacts {
  uint32_t runtime = 0;  ///< 0: none; else one more than the place of its finder among all, and of its probe
  std::vector<uint8_t> bytes;
};

}  // namespace polytop
