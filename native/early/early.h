// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/libbpf.h>

#include <string>

#include "kernel_names/kernel_symbols.h"

namespace polytop {

/**
 * What takes longest at the start, and needs nothing that JavaScript has yet to find out: the kernel verifies the
 * sampling program, then its symbols are read where it does not tell its names itself, on a thread of its own while the
 * rest of polytop starts. Nobody need take what it makes: the process may end meanwhile. A second call does nothing.
 */
void beginEarly(const std::string& objectPath);

/// The loaded sampling object, to be closed with bpf_object__close(): once that which beginEarly() loads, else it is
/// loaded now. Throws a Failure.
bpf_object* takeSamplingObject(const std::string& path);

/// The symbols of a file of the form of /proc/kallsyms: once those which beginEarly() reads, else it is read now.
/// Throws a Failure.
KernelSymbols takeKernelSymbols(const std::string& path);

}  // namespace polytop
