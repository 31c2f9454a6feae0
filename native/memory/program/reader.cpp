// SPDX-License-Identifier: Apache-2.0
//
// Reads memory of other processes for polytop, which starts it (memory_reader.cpp) and kills it where it does not
// answer: a page of such a process may be one that never comes. It has nothing but the area that it shares with
// polytop and the right to read processes; all other system calls end it.
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdlib>

#include "memory/program/confine.h"
#include "memory/read_area.h"
#include "turns/priority.h"

namespace {

using namespace polytop;

void answer(ReadArea& area) {
  uint32_t used = 0;
  // Nothing here trusts polytop's numbers: they are in memory that both can write.
  const uint32_t count = std::min(area.count, kMaxRanges);
  for (uint32_t i = 0; i < count; i++) {
    area.at.store(i, std::memory_order_relaxed);
    ReadRange& range = area.ranges[i];
    const uint32_t size = std::min(range.size, kReadBytes - used);
    const iovec local = {area.bytes + used, size};
    const iovec remote = {reinterpret_cast<void*>(range.address), size};
    const ssize_t got = process_vm_readv(range.pid, &local, 1, &remote, 1, 0);
    range.got = got > 0 ? static_cast<uint32_t>(got) : 0;
    used += size;
  }
}

[[noreturn]] void serve(ReadArea& area) {
  for (;;) {
    const uint32_t turn = area.turn.load(std::memory_order_acquire);
    if (turn != READ_ASKED) {
      awaitTurn(area.turn, turn, nullptr);
      continue;
    }
    answer(area);
    passTurn(area.turn, READ_ANSWERED);
  }
}

}  // namespace

int main(int argc, char** argv) {
  // It ends with the thread that started it. That may have ended already.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc < 2 || getppid() != atoi(argv[1])) return 1;
  void* area = mmap(nullptr, sizeof(ReadArea), PROT_READ | PROT_WRITE, MAP_SHARED, kReadAreaFd, 0);
  if (area == MAP_FAILED) return 1;
  syscall(SYS_close_range, 0, UINT_MAX, 0);
  // Samples wait for its answers, and so does a thread that comes first (turns/first_turn.h). A page that does not come
  // takes no CPU. (musl 1.2 has a sched_setscheduler() that does nothing.)
  raisePriority();
  const sched_param lowest = {1};
  syscall(SYS_sched_setscheduler, 0, SCHED_RR, &lowest);
  prctl(PR_SET_DUMPABLE, 0);
  if (!reader::dropCapabilities() || !reader::denyOtherCalls()) return 1;
  serve(*static_cast<ReadArea*>(area));
}
