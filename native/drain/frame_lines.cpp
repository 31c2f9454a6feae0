// SPDX-License-Identifier: Apache-2.0
#include "drain/frame_lines.h"

#include "perl/perl_lines.h"
#include "python/python_lines.h"
#include "v8/v8_lines.h"

namespace polytop {

std::vector<std::unique_ptr<FrameLines>> makeFrameLines(Session& session, Catalog& catalog, MemoryReader& memory) {
  std::vector<std::unique_ptr<FrameLines>> lines;
  lines.push_back(std::make_unique<PerlLines>(session, memory));
  lines.push_back(std::make_unique<PythonLines>());
  lines.push_back(std::make_unique<V8Lines>(memory, [&catalog](uint32_t file, uint64_t offset) {
    const std::shared_ptr<const FoundRuntime> runtime = catalog.runtimeOf(file);
    const InterpreterInfo* engine = runtime ? runtime->interpreter() : nullptr;
    return engine && engine->kind == INTERPRETER_V8 && engine->evaluates(offset);
  }));
  return lines;
}

}  // namespace polytop
