// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bpf/abi.h"
#include "elf/elf_image.h"
#include "kernel/session.h"
#include "unwind/rule_set.h"
#include "unwind/unwind_table.h"

namespace polytop {

/// A file whose table is being built: what a probe looks at, and may add to.
struct ProbedFile {
  int fd = -1;
  const ElfImage* image = nullptr;  ///< null: it is no ELF file
  RuleSet& rules;
  UnwindTable& table;    ///< the rows of `image`; a probe may append those of its own code
  bool hasCode = false;  ///< it is an ELF file, or a probe found code to unwind in it
  std::string& why;      ///< what is wrong with the file, empty if nothing is
};

/// The interpreter or language runtime in a file, as its probe found it. What JavaScript is told of it is read from
/// the class of the runtime (js/).
class FoundRuntime {
 public:
  virtual ~FoundRuntime() = default;
  /// Writes what the walk must know into the maps and into the entry of the file, before the walk finds the file.
  virtual void publish(uint32_t fileId, file_entry& visible) = 0;
  /// Takes that back when no walk can use it any more, so that others have the room.
  virtual void withdraw(uint32_t fileId) = 0;
};

/// Knows the files of one runtime.
class RuntimeProbe {
 public:
  virtual ~RuntimeProbe() = default;
  /// Null where the file holds no such runtime. Any thread may call it, also several at once.
  virtual std::unique_ptr<FoundRuntime> find(ProbedFile& file) = 0;
};

/// All of them, in the order in which they are asked: the first that finds its runtime has the file. The session must
/// outlive them and they what they find.
std::vector<std::unique_ptr<RuntimeProbe>> makeProbes(const Session& session);

}  // namespace polytop
