// SPDX-License-Identifier: Apache-2.0
//
// Compares instructions with bytes that are known.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace polytop::arch {

/// endbr64, which may stand before the first instruction of a function.
inline constexpr std::array<uint8_t, 4> kEndbr = {0xf3, 0x0f, 0x1e, 0xfa};

/// Whether `code` holds the bytes `wanted` from index `at` on.
template <typename Bytes>
bool hasBytes(std::span<const uint8_t> code, size_t at, const Bytes& wanted) {
  return at <= code.size() && code.size() - at >= wanted.size() &&
         std::equal(wanted.begin(), wanted.end(), code.begin() + static_cast<ptrdiff_t>(at));
}

}  // namespace polytop::arch
