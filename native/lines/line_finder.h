// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bpf/abi.h"
#include "lines/line_list.h"
#include "naming/read_symbols.h"
#include "parser/parser.h"
#include "turns/mutex.h"
#include "util/file_descriptor.h"

namespace polytop {

/// A sampled file with descriptors of its own, so that it may be forgotten elsewhere meanwhile.
struct LineRequest {
  file_key key = {};
  FileDescriptor file;  ///< invalid: it is not known any more
  FileDescriptor root;  ///< of its process, where that is not our own
  std::vector<uint64_t> offsets;
};

/// The separate debug file of a program that has no lines itself, and what dwz moved out of it. libdw would open
/// whatever paths these name.
struct LineHolders {
  DebugFile debug;
  FileDescriptor other;
};

// Each asks a parser, and throws a Failure where that says nothing, or what cannot be.

/// `root` is the directory under which debug files are looked up beside the machine's own ("": nowhere else).
LineHolders openLineFiles(const AskParser& ask, int program, const std::string& root);
/// `number`: another one for each file.
FoundLines findLines(const AskParser& ask, int program, const LineHolders& files, uint64_t number,
                     const std::vector<uint64_t>& offsets);
LinePlaces findPlaces(const AskParser& ask, int program, const LineHolders& files, const std::string& source,
                      uint32_t line);

/// Has source lines found by a parser, which keeps what it read of one file until another is asked for, or one that
/// cannot be read. Any thread may call it.
class LineFinder {
 public:
  /// `parser`: the path of that program.
  explicit LineFinder(std::string parser) : parser_(std::move(parser)) {}

  /// Takes as long as reading the debug information takes.
  FoundLines find(const LineRequest& request);
  /// Lets nobody wait for lines any more.
  void close() { parser_.close(); }

 private:
  Mutex mutex_;
  Parser parser_;
  file_key key_ = {};  ///< of `files_`
  LineHolders files_;
  uint64_t number_ = 0;  ///< of those
};

}  // namespace polytop
