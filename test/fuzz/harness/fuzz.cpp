// SPDX-License-Identifier: Apache-2.0
//
// What libFuzzer calls: POLYTOP_HARNESS says which harness gets its inputs.
#include <cstdio>
#include <cstdlib>

#include "harness.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const polytop::fuzz::Harness* harness = polytop::fuzz::findHarness(std::getenv("POLYTOP_HARNESS"));
  if (!harness) {
    std::fprintf(stderr, "POLYTOP_HARNESS names no harness\n");
    std::exit(2);
  }
  polytop::fuzz::runOnce(*harness, {data, size});
  return 0;
}
