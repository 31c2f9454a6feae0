// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elf/needed_files.h"
#include "lines/line_list.h"
#include "parser/parser.h"
#include "probes/probe_list.h"

namespace polytop {

// Functions that take a parser have it read a file of this machine. They throw a Failure where it cannot be read.

/// Every function with a symbol in a file or in its separate debug file. `isWritten`: also as people write them.
std::vector<ProbedFunction> listFunctions(Parser& parser, const std::string& path, bool isWritten);

/// What choosers of a file chose, for each of them: where the function is in the file, CHOICE_NOT_LOADED or
/// CHOICE_ELSEWHERE. Knows it of files alone that this process has loaded itself, as it has the C library: what they
/// choose depends on the processor and on GLIBC_TUNABLES.
std::vector<int64_t> chosenFunctions(const std::string& path, const std::vector<ProbedFunction>& choosers);

/// Where a source line begins in a file: see findLinePlaces().
LinePlaces listLinePlaces(Parser& parser, const std::string& path, const std::string& source, uint32_t line);

/// What a program or library needs to run.
NeededFiles listNeededFiles(Parser& parser, const std::string& path);

/// The static probes of a file.
std::vector<StaticProbe> listStaticProbes(Parser& parser, const std::string& path);

}  // namespace polytop
