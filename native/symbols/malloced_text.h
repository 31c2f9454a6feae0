// SPDX-License-Identifier: Apache-2.0
//
// Memory that C libraries give and their caller frees.
#pragma once

#include <cstdlib>
#include <memory>

namespace polytop {

struct FreeMalloced {
  void operator()(char* memory) const { std::free(memory); }
};

/// Text that came from malloc().
using MallocedText = std::unique_ptr<char, FreeMalloced>;

}  // namespace polytop
