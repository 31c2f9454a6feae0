// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "kernel/session.h"

namespace polytop {

/**
 * What a tick of the sampling event costs the code that it interrupts, in nanoseconds, without the BPF program's own
 * time: the interrupt, the hypervisor's part in it, the kernel's timer. The thread looks at the clock all the time for
 * `spin`, and the gaps in what it sees are what ticks took. Events must be attached at a rate of many ticks in that
 * time. 0 if it cannot be told, since others had the CPU.
 */
uint64_t measureTickCost(const Session& session, std::chrono::nanoseconds spin);

/// The lower of a wanted rate and what the kernel allows (kernel.perf_event_max_sample_rate).
uint32_t allowedFrequency(uint32_t wanted);

}  // namespace polytop
