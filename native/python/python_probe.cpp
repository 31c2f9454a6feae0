// SPDX-License-Identifier: Apache-2.0
#include "python/python_probe.h"

#include "files/interpreter_probe.h"
#include "python/python_facts.h"

namespace polytop {

std::unique_ptr<RuntimeProbe> makePythonProbe(const Session& session) {
  return std::make_unique<InterpreterProbe<PythonFile>>(session, INTERPRETER_PYTHON, "pythons", MAX_PYTHONS,
                                                        readPythonFacts);
}

}  // namespace polytop
