// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dotnet/method_list.h"
#include "parser/parser.h"

namespace polytop {

/// Has a parser say which method each function of a precompiled image is the body of. Who asks waits for it, as long as
/// the owner's share of such time does.
class MethodFinder {
 public:
  using Table = std::span<const uint8_t>;

  /// `parser`: the path of that program.
  explicit MethodFinder(const std::string& parser) : ofRoot_(parser, kReadAtOnce), ofUsers_(parser, kReadAtOnce) {}

  /// `owner`: the user whose image it is; `functions`: how many it has; `definitions`: the tables of its assemblies.
  /// Throws a Failure where they cannot be read.
  MethodList find(uint32_t owner, uint32_t functions, Table instances, const std::vector<Table>& definitions);

 private:
  Parser ofRoot_, ofUsers_;
};

}  // namespace polytop
