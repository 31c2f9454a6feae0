// SPDX-License-Identifier: Apache-2.0
//
// Source lines of an ELF file made of parts. libdw itself is not built with the checks: what it does wrong is seen
// where it ends the program or costs too much.
#include "../../native/ask_here.h"
#include "harness.h"
#include "lines/line_finder.h"
#include "parts.h"
#include "util/budget.h"

namespace polytop::fuzz {

void tryLines(Input input) {
  static uint64_t number = 0;
  const std::vector<uint8_t> file = makeElf(input);
  const int fd = fileOf(file);
  std::vector<uint64_t> offsets;
  for (uint64_t offset = 0; offset < file.size() && offsets.size() < 400; offset += 53) offsets.push_back(offset);
  try {
    const LineHolders holders = openLineFiles(askHere, fd, "/nonexistent");
    const FoundLines found = findLines(askHere, fd, holders, ++number, offsets);
    mustHold(!found.why.empty() || found.lines.size() == 2 * offsets.size(), "each offset has an answer");
    for (size_t at = 0; at < found.lines.size(); at += 2)
      mustHold(found.lines[at] < found.files.size(), "a line's file is one of the list");
    // Lines of the file that the first inputs were made of: of a loop that is inlined, and of a function.
    for (const uint32_t line : {9, 17}) {
      const LinePlaces places = findPlaces(askHere, fd, holders, "seed.c", line);
      mustHold(places.offsets.empty() || !places.sources.empty(), "a place is of a source file");
    }
  } catch (const Overspent&) {
    // A file that takes too much is refused.
  }
}

}  // namespace polytop::fuzz
