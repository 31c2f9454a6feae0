// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace polytop {

/**
 * The functions of a kernel by address, as columns: /proc/kallsyms in little memory. Of the symbols of one address
 * the best known is kept: global before weak before local, then the one with the fewest underscores in front.
 */
struct KernelSymbols {
  /// Ascending, each once: lower halves, since the upper half of all is arch::kKernelCodeHigh.
  std::vector<uint32_t> addresses;
  /// Where in `text` the name begins.
  std::vector<uint32_t> names;
  /// Index in `modules`; 0: no function begins here, the code before it ends.
  std::vector<uint16_t> owners;
  /// 1: the padding in front of the function of that name, `__pfx_…` in kallsyms.
  std::vector<uint8_t> paddings;
  /// Names as kallsyms has them; the second is the kernel itself, which kallsyms leaves out.
  std::vector<std::string> modules = {"", "kernel"};
  /// Names, each ended by a line feed. Bytes as they are.
  std::string text;
  /// All addresses are hidden from this user (kernel.kptr_restrict).
  bool hidden = false;
};

/// Reads a file of the form of /proc/kallsyms; lines that are none are left out. Throws a Failure.
KernelSymbols readKernelSymbols(const std::string& path);

}  // namespace polytop
