// SPDX-License-Identifier: Apache-2.0
//
// What polytop (parser.cpp) and its parser (program/) say to each other over a socket. A request is a header, bytes,
// and with the header the descriptors of open files; an answer is a header and bytes.
#pragma once

#include <cstdint>

namespace polytop {

/// What is asked of the parser.
enum class ParseTask : uint32_t {
  kFile = 1,  ///< of one file: encodeParsed() of what is in it
};

struct RequestHeader {
  ParseTask task;
  uint32_t size;  ///< bytes that follow
};

struct AnswerHeader {
  uint32_t isAnswered;  ///< 0: what follows is a text that says why not
  uint32_t size;        ///< bytes that follow
};

/// The parser finds its end of the socket at this descriptor.
constexpr int kParserSocket = 3;
/// The parser runs behind others, unless somebody waits for it.
constexpr int kParserNice = 10;
constexpr uint32_t kMaxRequest = 1 << 20;
constexpr uint32_t kMaxAnswer = 160 << 20;
constexpr size_t kMaxRequestFiles = 3;

}  // namespace polytop
