// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "files/probe.h"

namespace polytop {

/// The probe of files that hold JavaScript engines.
std::unique_ptr<RuntimeProbe> makeV8Probe(const Session& session);

}  // namespace polytop
