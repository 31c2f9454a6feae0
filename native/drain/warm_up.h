// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "drain/drain.h"
#include "files/builder.h"
#include "kernel/session.h"
#include "kernel/sweeper.h"

namespace polytop {

// What is done before anything is counted, so that the first refresh is as good as the others.

/// Samples fast for a moment and builds the unwind tables of what is hot; the session gets its count maps meanwhile.
/// Throws a Failure.
void warmUp(Session& session, Drain& drain, const FileBuilder& builder, const SessionOptions& options);

/// Sweeps until no stack ends in a file that is not known, and has nothing of that counted. Throws a Failure.
void warmUp(Sweeper& sweeper, const FileBuilder& builder);

/// Waits until the tables of the files that were asked for are built, no longer than `longest`.
void waitForFiles(const FileBuilder& builder, std::chrono::milliseconds longest);

}  // namespace polytop
