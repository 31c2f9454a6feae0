// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "events/event_setup.h"
#include "util/file_descriptor.h"

namespace polytop {

/// BPF_TRACE_UPROBE_MULTI of enum bpf_attach_type (Linux 6.6).
constexpr uint32_t kMultiProbe = 48;

/// Whether the kernel probes many functions of a file with one link.
bool hasMultiProbes();

/// Probes the places of a file with one link. Throws a Failure.
FileDescriptor linkFunctions(int program, const FileProbes& file, bool isReturn);

// Events by perf_event_open(2), one for the whole machine. They give a descriptor, or -1 with errno set.
int openTracepoint(uint64_t id, uint32_t cpu);
int openFunction(const std::string& path, const ProbePlace& place, bool isReturn, uint32_t cpu);
/// ENOENT also where this kernel was built without kprobes.
int openKernelFunction(const std::string& name, bool isReturn, uint32_t cpu);

}  // namespace polytop
