// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bpf/abi.h"

namespace polytop {

/// An instruction of a file that is probed.
struct ProbePlace {
  uint64_t offset = 0;     ///< in the file
  uint64_t semaphore = 0;  ///< file offset of the counter that tells the program of a probe; 0: none
};

/// Instructions of one file.
struct FileProbes {
  std::string path;
  std::vector<ProbePlace> places;
};

/// An event as src/events/ resolved it.
struct EventSetup {
  uint32_t number = 1;  ///< of the run's events: that of its counts
  std::string name;
  event_kind kind = EVENT_COUNTER;
  uint32_t type = 0;  ///< of perf_event_attr, as is the next; of counters and tracepoints
  uint64_t config = 0;
  uint64_t period = 0;        ///< every so-many-th hit is looked at; 0: as many as the frequency says
  uint32_t frequency = 0;     ///< stacks a second on each CPU at most
  std::string modifiers;      ///< of counters, as perf has them: `u` user, `k` kernel, `p` and `P` precise
  bool hasOwnPeriod = false;  ///< the kernel chooses the period by the frequency: of counters of the processor
  bool takesKernelStack = true;
  uint32_t fieldOffset = 0;  ///< of the field that hits of a tracepoint are weighed by
  uint32_t fieldSize = 0;    ///< 0: each hit weighs one
  bool fieldSigned = false;
  std::vector<FileProbes> files;       ///< of EVENT_FUNCTION and EVENT_RETURN
  std::vector<std::string> functions;  ///< of EVENT_KERNEL_FUNCTION and EVENT_KERNEL_RETURN
};

}  // namespace polytop
