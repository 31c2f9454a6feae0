// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "symbols/symbol_list.h"

namespace polytop {

/// The symbols of one address, which are names of the same function.
struct Aliases {
  static constexpr uint32_t kMost = 32;

  uint32_t first = 0;  ///< in NameRequest::symbols
  uint32_t count = 0;
};

/// Functions whose names are wanted. Two open files go with it, those that hold the names of the two tables.
struct NameRequest {
  static constexpr size_t kMaxFunctions = 1024, kMaxSymbols = 4096;

  NamePlace names, dynamicNames;
  std::vector<Aliases> functions;
  std::vector<SymbolEntry> symbols;
};

/// A longer name is cut: what is shown is 512 characters at most.
constexpr size_t kMaxName = 4096;

std::vector<uint8_t> encodeNameRequest(const NameRequest& request);
/// False where the bytes are no sound request.
bool decodeNameRequest(std::span<const uint8_t> bytes, NameRequest& request);

std::vector<uint8_t> encodeNames(const std::vector<std::string>& names);
/// Takes as many names as were asked for off bytes that nobody vouches for; false where these are anything else. What
/// is no UTF-8 becomes `?`.
bool decodeNames(std::span<const uint8_t> bytes, size_t count, std::vector<std::string>& names);

}  // namespace polytop
