// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace polytop {

/**
 * Where the signature of a generic instance ends that begins at `at`: src/runtimes/dotnet/instance-signature.ts reads
 * the same to the same end. None where it is of a form that is not known, or goes on for too long. What its parts mean
 * is not looked at: an image has tens of thousands, of which few are ever named.
 */
std::optional<uint64_t> endOfMethodSignature(std::span<const uint8_t> bytes, uint64_t at);

/// No signature is longer.
constexpr uint64_t kMaxMethodSignature = 1024;

}  // namespace polytop
