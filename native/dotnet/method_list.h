// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace polytop {

/// What is asked about the code of a precompiled image. Its tables lie one after the other in a file.
struct MethodQuery {
  uint32_t functions = 0;             ///< how many it has
  uint32_t instances = 0;             ///< bytes of the table of generic instances, which is the first
  std::vector<uint32_t> definitions;  ///< bytes of the tables of definitions: one of each assembly whose code it holds
};

/// Which method each function of an image is the body of.
struct MethodList {
  /// By the index of the function: a definition is 2 * its row, an instance 2 * the place of its signature + 1; 0
  /// stands for funclets and what is not known.
  std::vector<uint32_t> methods;
  /// Numbers of the assemblies of the definitions; empty in an image of one.
  std::vector<uint16_t> components;
  /// All instances could be read. Else the function of one that was not could be taken for a funclet.
  bool isWhole = true;
};

// These write and read bytes that nobody vouches for: a reader returns false where they are anything else.

std::vector<uint8_t> encodeMethodQuery(const MethodQuery& query);
bool decodeMethodQuery(std::span<const uint8_t> bytes, MethodQuery& query);
std::vector<uint8_t> encodeMethods(const MethodList& list);
/// `functions`: how many it must tell of.
bool decodeMethods(std::span<const uint8_t> bytes, uint32_t functions, MethodList& list);

}  // namespace polytop
