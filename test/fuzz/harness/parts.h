// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "harness.h"

namespace polytop::fuzz {

/**
 * An ELF file made of parts, so that a change of one byte of an input is one byte of one section and not of the
 * headers that lead to it. A part is: its kind (index in kParts; with kPacked the section says that it is compressed),
 * four bytes of its address, two of its size, and its bytes; the last one ends with the input. The first byte of
 * the input are options. Sections without an address in the input get one of their kind.
 */
std::vector<uint8_t> makeElf(Input input);

constexpr uint8_t kPacked = 0x80;
/// Options.
constexpr uint8_t kNoSections = 1, kSecondHalf = 2;

/// What a part is in the file.
struct Part {
  const char* name;
  uint32_t type;
  uint64_t flags;
  uint32_t segment;  ///< the type of its segment, PT_NULL: none but the one of all
};
extern const Part kParts[];
extern const size_t kPartCount;

}  // namespace polytop::fuzz
