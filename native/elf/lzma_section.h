// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace polytop {

/**
 * Decompresses an xz stream, as .gnu_debugdata holds one.
 *
 * Empty where the stream is damaged, needs more than 64 MB to decode, or holds more than 64 MB:
 * a few kilobytes of xz can stand for gigabytes.
 */
std::vector<uint8_t> decodeXz(const std::vector<uint8_t>& packed);

}  // namespace polytop
