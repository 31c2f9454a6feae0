// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "bpf/abi.h"

namespace polytop {

/// What is known of a minor version of CPython 3.
struct PythonVersion {
  uint32_t flags = 0;  ///< enum python_flags
  python_layout layout = {};
};

constexpr int kOldestPython = 9;
constexpr int kLatestPython = 15;

/// The layout of CPython 3.`minor`, kOldestPython to kLatestPython, as its headers have it for a build with the GIL.
PythonVersion pythonVersion(int minor);

}  // namespace polytop
