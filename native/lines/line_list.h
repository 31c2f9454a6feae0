// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace polytop {

/// Which open files go with a question about lines, behind that of the program: in this order, where they are there.
struct LineSources {
  uint8_t hasDebugFile = 0;
  uint8_t hasOther = 0;  ///< what dwz moved out of several debug files into one
};

/// What is asked about the source lines of a file.
struct LineQuery {
  uint64_t file = 0;  ///< which file it is: what was read of the last one is kept
  LineSources sources;
  std::vector<uint64_t> offsets;
};

/// The source lines of some code of a file.
struct FoundLines {
  std::vector<std::string> files;  ///< as the debug information spells them; index 0 stands for none
  std::vector<uint32_t> lines;     ///< for each offset that was asked for: index in `files`, line (0: unknown)
  std::string why;                 ///< why there are no lines at all; empty if there are some
};

/// What is asked about the places of a line.
struct LinePlaceQuery {
  LineSources sources;
  std::string source;  ///< the end of the path of a source file
  uint32_t line = 0;
};

/// Where the code of a source line begins.
struct LinePlaces {
  /// A line may have more: these are told, and no others.
  static constexpr size_t kMostOffsets = 20'000, kMostSources = 32;

  std::vector<uint64_t> offsets;     ///< in the file, ascending, each once
  std::vector<std::string> sources;  ///< the source files that were meant, as the debug information spells them
  uint32_t next = 0;  ///< where there is none: the next line of these files that has code; 0: no line has
  std::string why;    ///< why the file says nothing of lines; empty if it does
};

// These write and read bytes that nobody vouches for: a reader returns false where they are anything else.

std::vector<uint8_t> encodeLineQuery(const LineQuery& query);
bool decodeLineQuery(std::span<const uint8_t> bytes, LineQuery& query);

std::vector<uint8_t> encodeLines(const FoundLines& found);
/// `offsets`: how many were asked for.
bool decodeLines(std::span<const uint8_t> bytes, size_t offsets, FoundLines& found);

std::vector<uint8_t> encodePlaceQuery(const LinePlaceQuery& query);
bool decodePlaceQuery(std::span<const uint8_t> bytes, LinePlaceQuery& query);

std::vector<uint8_t> encodePlaces(const LinePlaces& places);
bool decodePlaces(std::span<const uint8_t> bytes, LinePlaces& places);

}  // namespace polytop
