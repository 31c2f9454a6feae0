// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace polytop {

/// 2^64 divided by the golden ratio, made odd: a product with it has each bit of a word in many of its high bits.
constexpr uint64_t kHashFactor = 0x9e3779b97f4a7c15ULL;

/// The hash of a sequence whose hash so far is `hash`, and of one more word.
constexpr uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * kHashFactor;
  return hash ^ hash >> 32;
}

/// The same of bytes, by words for as long as there are any.
inline uint64_t hashBytes(const uint8_t* bytes, size_t size, uint64_t hash) {
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, bytes + at, sizeof word);
    hash = mix(hash, word);
  }
  for (; at < size; at++) hash = mix(hash, bytes[at]);
  return hash;
}

}  // namespace polytop
