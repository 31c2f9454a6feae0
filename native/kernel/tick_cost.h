// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/cpu_events.h"

namespace polytop {

/**
 * What a tick of the sampling event costs the code that it interrupts, in nanoseconds: the interrupt, the hypervisor's
 * part in it, the kernel's timer. The thread looks at the clock all the time for some 15 ms, 50 at most, and the gaps
 * in what it sees are what ticks took: those of an event of its own, some thousand a second, with a BPF program that
 * does nothing. 0 if it cannot be told, since others had the CPU.
 *
 * The first of the sources that can be had is measured. One that does not count is taken out of them, unless it is the
 * last: some hypervisors have a PMU that never does.
 */
uint64_t measureTickCost(std::vector<EventSource>& sources);

/// The lower of a wanted rate and what the kernel allows (kernel.perf_event_max_sample_rate).
uint32_t allowedFrequency(uint32_t wanted);

}  // namespace polytop
