// SPDX-License-Identifier: Apache-2.0
#include "v8/v8_probe.h"

#include "files/interpreter_probe.h"
#include "v8/v8_facts.h"

namespace polytop {

std::unique_ptr<RuntimeProbe> makeV8Probe(const Session& session) {
  return std::make_unique<InterpreterProbe<V8File>>(session, INTERPRETER_V8, "v8s", MAX_V8S, readV8Facts);
}

}  // namespace polytop
