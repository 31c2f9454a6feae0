// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "dotnet/dotnet_file.h"
#include "dotnet/ready_to_run.h"
#include "parser/finder.h"

namespace polytop {

/// A .NET runtime in a file, assemblies in it, or both: a single-file program.
struct DotnetFile {
  std::optional<DotnetRuntime> runtime;    ///< none: the file is an assembly, or holds some
  std::vector<PlacedAssembly> assemblies;  ///< by ascending offset
};

/// The RuntimeFinder of .NET; appends the rows of assemblies.
bool findDotnet(ProbedFile& file, WireWriter& facts);

/// What that wrote; nothing where it is not sound.
std::optional<DotnetFile> readDotnetFacts(WireReader& facts);

}  // namespace polytop
