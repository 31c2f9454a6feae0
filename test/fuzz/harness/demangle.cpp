// SPDX-License-Identifier: Apache-2.0
//
// A symbol as a name that people read.
#include "symbols/demangle.h"

#include <string>

#include "harness.h"

namespace polytop::fuzz {

void tryDemangle(Input input) {
  const std::string mangled(input.begin(), input.end());
  const std::string name = demangle(mangled);
  mustHold(mangled.empty() || !name.empty(), "a symbol has a name");
  const std::string parameters = parametersOf(mangled);
  mustHold(parameters.empty() || parameters.front() == '(', "parameters are in brackets");
}

}  // namespace polytop::fuzz
