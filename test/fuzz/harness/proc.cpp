// SPDX-License-Identifier: Apache-2.0
//
// Lines that the kernel writes about a process, with names in them that its owner chose.
#include <string>

#include "harness.h"
#include "mapped/proc_lines.h"

namespace polytop::fuzz {

void tryProc(Input input) {
  const std::string line(input.begin(), input.end());
  if (const auto mapping = readMapping(line)) mustHold(mapping->inode != 0, "what is mapped is a file");
  if (const auto mount = readMount(line)) mustHold(!mount->point.empty(), "a mount is somewhere");
}

}  // namespace polytop::fuzz
