// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bpf/abi.h"

namespace polytop {

/// From `offset` bytes behind the start of a function on, `rule` holds.
struct SehRow {
  uint32_t offset = 0;
  unwind_rule rule = {};
};

/**
 * The rows of a function that is described by Windows-style unwind codes (UNWIND_INFO of the x64 ABI, with
 * .NET's op 11): one behind each instruction of its prolog, the last of them for its body. Epilogs are not described.
 * `info` points to `size` readable bytes. Returns false, with no rows, for what cannot be followed.
 */
bool sehRows(const uint8_t* info, size_t size, std::vector<SehRow>& rows);

/**
 * RVA of the unwind codes that hold for a function which has none of its own: a part of another one, without a
 * prolog. 0 if it has codes of its own, or both.
 */
uint32_t chainedInfo(const uint8_t* info, size_t size);

/// Whether the kernel side can follow a prolog with these rows by its instructions: bpf/arch/x86_dotnet.h.
bool isPlainProlog(const std::vector<SehRow>& rows);

}  // namespace polytop
