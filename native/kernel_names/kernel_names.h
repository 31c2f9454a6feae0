// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernel/session.h"

namespace polytop {

/// Whether the kernel names addresses for BPF programs: it does from Linux 5.13 on (bpf_snprintf()).
bool kernelTellsNames();

/// Names addresses as the kernel's own messages do (`%pS`): `function+0x1a/0x50 [module]`, and an address where it
/// knows no function. Empty texts where it does not tell.
std::vector<std::string> nameKernel(const Session& session, std::span<const uint64_t> addresses);

}  // namespace polytop
