// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "bpf/types.h"

namespace polytop::arch {

/// How code finds a variable of its thread.
struct ThreadAccess {
  thread_local_model model = THREAD_LOCAL_NONE;
  uint64_t word = 0;  ///< address in the file of what the dynamic linker fills in; 0: nothing
  int32_t offset = 0;
};

/// More than any function that findThreadAccess() knows has.
constexpr size_t kLongestThreadAccess = 64;

/**
 * Reads the code of a function at an address that does nothing but return the value of a pointer that each thread has
 * its own of. Nothing where it looks otherwise. Source: ELF Handling For Thread-Local Storage, section 4.4, and what
 * linkers relax it to.
 */
std::optional<ThreadAccess> findThreadAccess(std::span<const uint8_t> code, uint64_t address);

}  // namespace polytop::arch
