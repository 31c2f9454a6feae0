// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel/session.h"

namespace polytop {

/**
 * Has the kernel side find the mappings of this process, which /proc/self/maps tells of too, before anything is
 * sampled. Throws a Failure where they differ: this kernel keeps mappings in a way that is not known, and no stack of
 * it could be walked.
 */
void checkOwnMappings(const Session& session);

}  // namespace polytop
