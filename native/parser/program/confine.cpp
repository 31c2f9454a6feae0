// SPDX-License-Identifier: Apache-2.0
#include "parser/program/confine.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <iterator>
#include <vector>

#include "arch/arch.h"

namespace polytop {

namespace {

/// Each parser has the user of its process id. That is above what containers are given (systemd-nspawn takes the
/// highest, up to 1,879,048,191) and below what signed numbers hold.
constexpr uid_t kFirstUser = 2'100'000'000;
/// Who has no rights, where the others are not known in a user namespace.
constexpr uid_t kNobody = 65534;

/// Code of libraries and the stack are beside what it may take of memory.
constexpr rlim_t kMegabyte = 1 << 20, kMostAddresses = 512 * kMegabyte, kMostCpuSeconds = 30, kMostFiles = 24;
/// For so long, in microseconds, it runs before others without a pause, should polytop not end that.
constexpr rlim_t kMostFirst = 3'000'000;

bool becomeNobody(uid_t user) {
  return setgroups(0, nullptr) == 0 && setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0;
}

/// Without the right to change its user a program keeps that of who started it.
void dropUser() {
  if (!becomeNobody(kFirstUser + static_cast<uid_t>(getpid()))) becomeNobody(kNobody);
}

/// What no program that this one starts can have. It fails without CAP_SETPCAP; none is started anyway.
void dropBounds() {
  for (int capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; capability++) continue;
}

bool dropCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  return syscall(SYS_capset, &header, none) == 0;
}

bool limit(__rlimit_resource what, rlim_t most) {
  const rlimit both = {most, most};
  return setrlimit(what, &both) == 0;
}

bool limitResources(uint32_t megabytes) {
  return limit(RLIMIT_AS, kMostAddresses) && limit(RLIMIT_DATA, megabytes * kMegabyte) &&
         limit(RLIMIT_CPU, kMostCpuSeconds) && limit(RLIMIT_RTTIME, kMostFirst) && limit(RLIMIT_NOFILE, kMostFiles) &&
         limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, 0);
}

constexpr uint32_t argument(int index) {
  return static_cast<uint32_t>(offsetof(seccomp_data, args) + sizeof(uint64_t) * static_cast<size_t>(index));
}

/// Allows what reading open files and answering needs.
bool denyOtherCalls() {
  constexpr int kCalls[] = {SYS_pread64,         SYS_read,    SYS_lseek,  SYS_fstat,      SYS_close,
                            SYS_recvmsg,         SYS_sendto,  SYS_munmap, SYS_mremap,     SYS_brk,
                            SYS_futex,           SYS_madvise, SYS_exit,   SYS_exit_group, SYS_clock_gettime,
                            SYS_restart_syscall, SYS_sysinfo};
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch::kAuditArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const int call : kCalls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  // Another descriptor of a file that is open.
  const sock_filter descriptors[] = {
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 5), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(1)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_GETFD, 1, 0),   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_DUPFD_CLOEXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  filter.insert(filter.end(), std::begin(descriptors), std::end(descriptors));
  // Memory of no file, and no code.
  const sock_filter memory[] = {
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),       BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(2)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 3, 0),     BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(3)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  filter.insert(filter.end(), std::begin(memory), std::end(memory));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

}  // namespace

const char* confine(pid_t parent, uint32_t megabytes) {
  if (!limitResources(megabytes)) return "resources cannot be limited";
  dropBounds();
  dropUser();
  if (!dropCapabilities()) return "capabilities cannot be dropped";
  // Who has the same user reads nothing of it.
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return "memory cannot be hidden";
  // A change of the user takes that back, so that it comes behind; and the parent may have ended already.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) return "nobody waits for it";
  if (!denyOtherCalls()) return "system calls cannot be denied";
  return nullptr;
}

}  // namespace polytop
