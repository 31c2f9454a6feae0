// SPDX-License-Identifier: Apache-2.0
//
// Made-up mapping events for MapFilter and GatheringPause; exits with 1 if a check failed.
#include <sys/mman.h>

#include <cstring>
#include <string>

#include "check.h"
#include "kernel/map_filter.h"

namespace {

using namespace polytop;

/// A PERF_RECORD_MMAP2 as the kernel writes it.
struct Event {
  perf_event_header header = {PERF_RECORD_MMAP2, 0, 0};
  MapRecord record = {42, 42, 0x1000, 0x2000, 0x3000, 8, 1, 77, 5, PROT_READ | PROT_EXEC, 0};
  char path[64] = "/usr/bin/program";

  const perf_event_header& get() {
    header.size = sizeof header + sizeof record + strlen(path) / 8 * 8 + 8;
    return header;
  }
};

void testFilter() {
  MapFilter filter;
  Event event;
  const auto file = filter.unknownFile(event.get());
  check(file && file->tgid == 42 && file->key.inode == 77 && file->key.device == (8 << 20 | 1) &&
            file->key.generation == 5 && file->vma_start == 0x1000 && file->vma_end == 0x3000 &&
            file->vma_offset == 0x3000,
        "the first mapping of a file");
  check(filter.unknownFile(event.get()).has_value(), "asked for until it is remembered");
  filter.remember(*file);
  check(!filter.unknownFile(event.get()), "a known file");
  event.record.pid = 43;
  event.record.start = 0x9000;
  check(!filter.unknownFile(event.get()), "a known file in another process");
  const auto code = mappedCode(event.get());
  check(code && code->pid == 43 && code->start == 0x9000 && code->path == "/usr/bin/program",
        "where the other process has mapped it");
  event.record.generation = 6;
  check(filter.unknownFile(event.get()).has_value(), "another file with the same inode number");
  event.record.minor = 2;
  check(filter.unknownFile(event.get()).has_value(), "the same on another device");
}

void testOthers() {
  MapFilter filter;
  for (const char* path : {"//anon", "[vdso]", "/memfd:code (deleted)", ""}) {
    Event event;
    strcpy(event.path, path);
    check(!filter.unknownFile(event.get()), path);
  }
  Event data;
  data.record.protection = PROT_READ;
  check(!filter.unknownFile(data.get()) && !mappedCode(data.get()), "a mapping without code");
  Event lost;
  lost.header.type = PERF_RECORD_LOST;
  check(!filter.unknownFile(lost.get()), "an event of another kind");
  Event cut;
  cut.get();
  cut.header.size = sizeof cut.header + sizeof cut.record;
  check(!filter.unknownFile(cut.header) && !mappedCode(cut.header), "an event without a path");
}

void testPause() {
  GatheringPause pause;
  check(pause.length() == GatheringPause::kShortest, "short at first");
  for (int i = 0; i < 10; i++) pause.lengthen();
  check(pause.length() == GatheringPause::kLongest, "long where all is known, and not for ever");
  pause.shorten();
  check(pause.length() == GatheringPause::kShortest, "short again");
}

}  // namespace

int main() {
  testFilter();
  testOthers();
  testPause();
  return reportChecks();
}
