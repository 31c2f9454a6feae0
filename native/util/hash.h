// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace polytop {

/// 2^64 divided by the golden ratio, made odd: a product with it has each bit of a word in many of its high bits.
constexpr uint64_t kHashFactor = 0x9e3779b97f4a7c15ULL;

/// The hash of a sequence whose hash so far is `hash`, and of one more word.
constexpr uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * kHashFactor;
  return hash ^ hash >> 32;
}

}  // namespace polytop
