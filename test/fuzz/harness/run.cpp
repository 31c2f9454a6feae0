// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "harness.h"
#include "util/clock.h"

// Neither is there where the program is built to count covered lines.
extern "C" __attribute__((weak)) size_t __sanitizer_get_allocated_size(const volatile void* memory);
extern "C" __attribute__((weak)) int __sanitizer_install_malloc_and_free_hooks(
    void (*onMalloc)(const volatile void* memory, size_t size), void (*onFree)(const volatile void* memory));

namespace polytop::fuzz {

namespace {

/// The checks make code some ten times slower; what is spent on a small file without them is at most 0.1 s.
constexpr uint64_t kMostNanoseconds = 3'000'000'000;
/// An xz stream may take 64 MB and hold as many.
constexpr int64_t kMostBytes = 160 << 20;

std::atomic<int64_t> held, most;

void onMalloc(const volatile void* /*memory*/, size_t size) {
  const int64_t now = held += static_cast<int64_t>(size);
  if (now > most) most = now;
}

void onFree(const volatile void* memory) {
  if (memory) held -= static_cast<int64_t>(__sanitizer_get_allocated_size(memory));
}

void watchMemory() {
  static const bool isWatched =
      __sanitizer_install_malloc_and_free_hooks && __sanitizer_install_malloc_and_free_hooks(onMalloc, onFree) > 0;
  static_cast<void>(isWatched);
}

}  // namespace

const Harness* findHarness(const char* name) {
  const auto* found = std::find_if(std::begin(kHarnesses), std::end(kHarnesses),
                                   [=](const Harness& it) { return name && strcmp(it.name, name) == 0; });
  return found == std::end(kHarnesses) ? nullptr : found;
}

void runOnce(const Harness& harness, Input input) {
  watchMemory();
  const int64_t before = held;
  most = before;
  const uint64_t begun = clockNanoseconds(CLOCK_PROCESS_CPUTIME_ID);
  harness.tryInput(input);
  mustHold(clockNanoseconds(CLOCK_PROCESS_CPUTIME_ID) - begun < kMostNanoseconds, "it takes too long");
  mustHold(most - before < kMostBytes, "it takes too much memory");
}

void mustHold(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

int fileOf(Input input) {
  static const int fd = memfd_create("input", MFD_CLOEXEC);
  const bool isWritten =
      ftruncate(fd, 0) == 0 && pwrite(fd, input.data(), input.size(), 0) == static_cast<ssize_t>(input.size());
  mustHold(isWritten, "a file in memory can be written");
  return fd;
}

}  // namespace polytop::fuzz
