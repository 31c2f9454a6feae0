// SPDX-License-Identifier: Apache-2.0
#include "drain/frame_lines.h"

#include "perl/perl_lines.h"
#include "python/python_lines.h"
#include "v8/v8_lines.h"

namespace polytop {

std::vector<std::unique_ptr<FrameLines>> makeFrameLines(Session& session, MemoryReader& memory) {
  std::vector<std::unique_ptr<FrameLines>> lines;
  lines.push_back(std::make_unique<PerlLines>(session, memory));
  lines.push_back(std::make_unique<PythonLines>());
  lines.push_back(std::make_unique<V8Lines>(memory));
  return lines;
}

}  // namespace polytop
