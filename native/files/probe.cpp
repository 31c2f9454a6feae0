// SPDX-License-Identifier: Apache-2.0
#include "files/probe.h"

#include "dotnet/dotnet_probe.h"
#include "perl/perl_probe.h"
#include "python/python_probe.h"
#include "v8/v8_probe.h"

namespace polytop {

std::vector<std::unique_ptr<RuntimeProbe>> makeProbes(const Session& session) {
  std::vector<std::unique_ptr<RuntimeProbe>> probes;
  probes.push_back(makePerlProbe(session));
  probes.push_back(makePythonProbe(session));
  probes.push_back(makeV8Probe(session));
  probes.push_back(makeDotnetProbe(session));
  return probes;
}

}  // namespace polytop
