// SPDX-License-Identifier: Apache-2.0
//
// Source lines of an ELF file made of parts. libdw itself is not built with the checks: what it does wrong is seen
// where it ends the program or costs too much.
#include <fcntl.h>
#include <unistd.h>

#include "harness.h"
#include "parts.h"
#include "symbols/line_places.h"
#include "symbols/line_table.h"
#include "util/budget.h"

namespace polytop::fuzz {

void tryLines(Input input) {
  const std::vector<uint8_t> file = makeElf(input);
  LineRequest request;
  request.file = FileDescriptor(dup(fileOf(file)));
  for (uint64_t offset = 0; offset < file.size() && request.offsets.size() < 400; offset += 53)
    request.offsets.push_back(offset);
  LineTables tables;
  try {
    const FoundLines found = tables.find(request);
    mustHold(!found.why.empty() || found.lines.size() == 2 * request.offsets.size(), "each offset has an answer");
    for (size_t at = 0; at < found.lines.size(); at += 2)
      mustHold(found.lines[at] < found.files.size(), "a line's file is one of the list");
    const LinePlaces places = findLinePlaces(request.file, "/nonexistent", "a.c", 1);
    mustHold(places.offsets.empty() || !places.sources.empty(), "a place is of a source file");
  } catch (const Overspent&) {
    // A file that takes too much is refused.
  }
}

}  // namespace polytop::fuzz
