// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace polytop {

/**
 * The folder of the kernel's file system for tracing: where it is mounted, or else a mount that no folder of the
 * machine shows, which goes with this process. Throws a Failure where there is none or this user may not.
 */
std::string openTracing();

}  // namespace polytop
