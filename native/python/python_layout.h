// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "bpf/abi.h"

namespace polytop {

/// What is known of a minor version of CPython 3.
struct PythonVersion {
  uint32_t flags = 0;  ///< enum python_flags
  python_layout layout = {};
};

constexpr int kOldestPython = 9;
constexpr int kLatestPython = 14;

/// The layout of CPython 3.`minor`, kOldestPython to kLatestPython, as its headers have it for a build with the GIL.
PythonVersion pythonVersion(int minor);

/// Size of what readDebugOffsets() reads.
constexpr size_t kDebugOffsetsBytes = 768;

/// What an interpreter says of itself (struct _Py_DebugOffsets, from 3.13 on).
enum class DebugOffsets { kFit, kFreeThreaded, kUnknown };

/**
 * Takes the offsets that the beginning of _PyRuntime tells over into the layout. Says whether they are those of the
 * version and can be used: offsets that lead out of what is read of a struct cannot.
 */
DebugOffsets readDebugOffsets(std::span<const uint8_t> runtime, uint32_t version, python_layout& layout);

}  // namespace polytop
