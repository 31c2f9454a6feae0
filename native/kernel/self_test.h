// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel/session.h"

namespace polytop {

/**
 * Whether the kernel side finds the mappings of this process as /proc/self/maps tells of them, before anything is
 * sampled. False with `failure` set where it does not: this kernel keeps them in a way that is not known, and no
 * stack of it could be walked.
 */
bool findsOwnMappings(const Session& session, Failure& failure);

}  // namespace polytop
