// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "elf/debug_links.h"
#include "mapped/named_files.h"
#include "naming/symbol_index.h"
#include "parser/parser.h"

namespace polytop {

/// The separate debug file of an open file; invalid where there is none.
struct DebugFile {
  FileDescriptor file;
  std::string root;  ///< below which it was found, "" for the machine's own
  DebugLinks links;  ///< what the program says of it, and what is in it
};

// Each asks a parser, and throws a Failure where that says nothing, or what cannot be. `root` is the directory under
// which /usr/lib/debug is looked up beside the machine's own ("": nowhere else).

/// `isForLines`: a file that has a line table itself needs no other. `root` of the result is the given one where there
/// is none.
DebugFile findDebugFile(const AskParser& ask, int fd, const std::string& root, bool isForLines = false);

/// The function symbols of a file or of its separate debug file.
std::unique_ptr<SymbolIndex> readSymbolIndex(const AskParser& ask, int fd, const std::string& root);

/// Names that an index wants: one for each function. `files`: those that hold the names.
std::vector<std::string> readNames(const AskParser& ask, const std::vector<int>& files, const NameRequest& request);

}  // namespace polytop
