// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "files/probe.h"

namespace polytop {

/// The probe of files that hold Python interpreters.
std::unique_ptr<RuntimeProbe> makePythonProbe(const Session& session);

}  // namespace polytop
