// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "parser/finder.h"
#include "python/python_file.h"

namespace polytop {

/// The RuntimeFinder of Python.
bool findPython(ProbedFile& file, WireWriter& facts);

/// What that wrote; nothing where it is not sound.
std::optional<PythonFile> readPythonFacts(WireReader& facts);

}  // namespace polytop
