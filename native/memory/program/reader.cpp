// SPDX-License-Identifier: Apache-2.0
//
// Reads memory of other processes for polytop, which starts it (memory_reader.cpp) and kills it where it does not
// answer: a page of such a process may be one that never comes. It has nothing but the area that it shares with
// polytop and the right to read processes; all other system calls end it.
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdlib>

#include "memory/read_area.h"
#include "util/priority.h"

namespace {

using namespace polytop;

/// Keeps CAP_SYS_PTRACE alone, if it has that.
bool dropCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  const uint32_t kept = data[0].permitted & 1U << CAP_SYS_PTRACE;
  data[0] = {kept, kept, 0};
  data[1] = {};
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  return syscall(SYS_capset, &header, data) == 0;
}

/// Allows what serve() needs.
bool denyOtherCalls() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch::kAuditArchitecture, 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_restart_syscall, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {std::size(filter), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

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
  if (!dropCapabilities() || !denyOtherCalls()) return 1;
  serve(*static_cast<ReadArea*>(area));
}
