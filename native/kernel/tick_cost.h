// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace polytop {

/**
 * What a tick of the sampling event costs the code that it interrupts, in nanoseconds: the interrupt, the hypervisor's
 * part in it, the kernel's timer. The thread looks at the clock all the time for some 15 ms, 50 at most, and the gaps
 * in what it sees are what ticks took. Events must be attached at `frequency`, some thousand a second, and no process
 * be wanted, so that the BPF program does next to nothing. 0 if it cannot be told, since others had the CPU.
 */
uint64_t measureTickCost(uint32_t frequency);

/// The lower of a wanted rate and what the kernel allows (kernel.perf_event_max_sample_rate).
uint32_t allowedFrequency(uint32_t wanted);

}  // namespace polytop
