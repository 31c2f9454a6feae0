// SPDX-License-Identifier: Apache-2.0
//
// Where code starts, kept in less room; exits with 1 if a check failed.
#include <cstdint>
#include <vector>

#include "check.h"
#include "unwind/function_starts.h"

namespace {

using namespace polytop;

/// So many starts, with distances of all sizes.
std::vector<uint64_t> makeStarts(size_t count) {
  std::vector<uint64_t> starts;
  uint64_t at = 0;
  for (size_t i = 0; i < count; i++) {
    at += uint64_t{1} << (i * 7 % 36);
    starts.push_back(at);
  }
  return starts;
}

void testStarts(size_t count) {
  const std::vector<uint64_t> starts = makeStarts(count);
  const FunctionStarts kept(starts);
  check(kept.size() == count, "how many there are");
  check(kept.enclosing(UINT64_MAX) == (count == 0 ? 0 : starts.back()), "the last one");
  uint64_t before = 0;
  for (const uint64_t start : starts) {
    check(kept.enclosing(start) == start, "a start is found from where it is");
    check(kept.enclosing(start - 1) == before, "up to the next one");
    before = start;
  }
}

}  // namespace

int main() {
  for (const size_t count : {0, 1, 31, 32, 33, 64, 65, 1000}) testStarts(count);
  return reportChecks();
}
