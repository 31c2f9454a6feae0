// SPDX-License-Identifier: Apache-2.0
//
// What polytop (parser.cpp) and its parser (program/) say to each other over a socket. A request is a header, bytes,
// and with the header the descriptors of open files; an answer is a header and bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace polytop {

/// What is asked of the parser.
enum class ParseTask : uint32_t {
  kFile = 1,          ///< of one file: encodeParsed() of what is in it
  kDebugFile = 2,     ///< of a file and some that may be split off it: encodeLinks() of which one is
  kSymbols = 3,       ///< of a file and its separate debug file, if there is one: encodeSymbols()
  kNames = 4,         ///< of two files that hold names, and encodeNameRequest(): encodeNames()
  kLines = 5,         ///< of a file and of those that hold its lines, and encodeLineQuery(): encodeLines()
  kFunctions = 6,     ///< of the files of kSymbols, and a byte (1: names as people write them too): encodeFunctions()
  kStaticProbes = 7,  ///< of a file: encodeStaticProbes()
  kLinePlaces = 8,    ///< of the files of kLines, and encodePlaceQuery(): encodePlaces()
  kNeededFiles = 9,   ///< of a file: encodeNeeded()
  kMethods = 10,      ///< of tables of a .NET image one after the other, and encodeMethodQuery(): encodeMethods()
};

struct RequestHeader {
  ParseTask task;
  uint32_t size;   ///< bytes that follow
  uint32_t files;  ///< descriptors that come with it
};

enum class Outcome : uint32_t {
  kRefused = 0,    ///< what follows is a text that says why
  kAnswered = 1,   ///< what follows is what was asked for
  kTooLittle = 2,  ///< the memory that the parser was given does not do; nothing follows
};

struct AnswerHeader {
  Outcome outcome;
  uint32_t size;  ///< bytes that follow
};

/// The parser finds its end of the socket at this descriptor.
constexpr int kParserSocket = 3;
/// The parser runs behind others, unless somebody waits for it.
constexpr int kParserNice = 10;
/// It fits into a socket at once.
constexpr uint32_t kMaxRequest = 96 << 10;
/// A program and what may be its debug file: in four places of two roots.
constexpr size_t kMaxRequestFiles = 9;

}  // namespace polytop
