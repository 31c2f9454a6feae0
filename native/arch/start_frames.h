// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace polytop::arch {

/// Where in a function a word lies on its stack above the return address: at offsets [begin, end).
struct WordOnStack {
  size_t begin = 0;
  size_t end = 0;
  size_t functionEnd = 0;
};

/// More than any code that is looked for here has.
constexpr size_t kLongestStartCode = 128;

/// In .init or .fini, which keep the stack aligned by a word of no meaning. False for code that looks otherwise.
bool findAlignedFrame(std::span<const uint8_t> code, WordOnStack& word);

/// In __do_global_dtors_aux() of GCC's crtbegin.o, which begins `code`; the word is its caller's fp.
bool findDestructorFrame(std::span<const uint8_t> code, WordOnStack& word);

}  // namespace polytop::arch
