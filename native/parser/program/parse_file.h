// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "parser/finder.h"
#include "parser/parsed_file.h"

namespace polytop {

/// Reads a file: its rows and the runtime in it. Throws Overspent where that takes too much.
ParsedFile parseFile(int fd, RuleSet& rules);

}  // namespace polytop
