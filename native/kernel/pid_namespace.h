// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel/session.h"

namespace polytop {

/// Makes the program tell of processes by the pids that /proc shows here, which are not the machine's in a container
/// with a PID namespace of its own. Throws a Failure where /proc belongs to none of this process's namespaces.
void useNamespaceOfProc(const Session& session);

}  // namespace polytop
