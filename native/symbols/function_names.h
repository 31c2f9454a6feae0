// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "symbols/name_request.h"

namespace polytop {

/**
 * The names of functions, demangled: of those of one address the one that people know, which is the one with the
 * fewest underscores in front (`write`, not `__write`), then a global before a weak one, then the shortest, then by the
 * alphabet, so that the answer is always the same. Empty where a function has none.
 *
 * `file` and `dynamicFile` hold the names of the two tables. Throws Overspent where there is too much to read.
 */
std::vector<std::string> nameFunctions(const NameRequest& request, int file, int dynamicFile);

}  // namespace polytop
