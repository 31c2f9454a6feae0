// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "util/budget.h"

namespace polytop {

/// How sections are compressed.
enum class SectionForm {
  kPlain,
  kHeader,  ///< SHF_COMPRESSED: Elf64_Chdr and a stream of zlib or zstd (System V gABI chapter 4)
  kGnu,     ///< .zdebug_ as GNU's tools wrote until 2015: "ZLIB", the size as eight bytes, most significant first, a
            ///< stream
};

/// So many bytes of a section tell its form.
constexpr uint64_t kPackedHeader = 24;

/// What the first bytes of a compressed section say of it.
struct PackedHeader {
  enum class Method { kUnknown, kZlib, kZstd };

  Method method = Method::kUnknown;
  uint64_t size = 0;   ///< of what it holds
  uint64_t begin = 0;  ///< of its stream
};

/// `form`: not kPlain.
PackedHeader readPackedHeader(const std::vector<uint8_t>& bytes, SectionForm form);

/// The content of a compressed section, whose size is taken from the budget; empty where it is damaged.
std::vector<uint8_t> unpack(const std::vector<uint8_t>& packed, SectionForm form, Budget& budget);

/// The last byte of what a stream of zlib behind an Elf64_Chdr holds, without keeping it; 1 where there is none.
uint8_t lastUnpackedByte(const std::vector<uint8_t>& packed);

}  // namespace polytop
