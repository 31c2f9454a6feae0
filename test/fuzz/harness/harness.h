// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace polytop::fuzz {

/// The bytes of one run.
using Input = std::span<const uint8_t>;

// One of them for each parser: gives it the bytes in the form that it takes, and ends the program where what comes out
// is not sound.
void tryAnswers(Input input);
void tryCache(Input input);
void tryCode(Input input);
void tryDemangle(Input input);
void tryFacts(Input input);
void tryLines(Input input);
void tryPe(Input input);
void tryPerl(Input input);
void tryProc(Input input);
void tryPython(Input input);
void tryRows(Input input);
void trySymbols(Input input);
void tryV8(Input input);

struct Harness {
  const char* name;
  void (*tryInput)(Input input);
};

constexpr Harness kHarnesses[] = {
    {"answers", tryAnswers}, {"cache", tryCache},   {"code", tryCode}, {"demangle", tryDemangle},
    {"facts", tryFacts},     {"lines", tryLines},   {"pe", tryPe},     {"perl", tryPerl},
    {"proc", tryProc},       {"python", tryPython}, {"rows", tryRows}, {"symbols", trySymbols},
    {"v8", tryV8},
};

/// The harness of that name, or null.
const Harness* findHarness(const char* name);

/// Runs it once, and ends the program where that took more CPU time or memory than a file of this size may take.
void runOnce(const Harness& harness, Input input);

/// Ends the program, as a wrong access to memory does, where something does not hold.
void mustHold(bool holds, const char* what);

/// A file in memory that holds these bytes and no others; the same one for each call.
int fileOf(Input input);

}  // namespace polytop::fuzz
