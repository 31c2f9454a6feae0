// SPDX-License-Identifier: Apache-2.0
//
// Calls that a confined program may not make, and whether each of them ends it.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <new>
#include <string>

#include "check.h"

namespace polytop {

struct Call {
  const char* what;
  void (*make)();
};

/// Calls that would be of use to who leads a confined program astray.
inline const Call kDenied[] = {
    {"open", [] { open("/etc/passwd", O_RDONLY); }},
    {"creat", [] { open("/tmp/polytop-parser-was-here", O_WRONLY | O_CREAT, 0600); }},
    {"write", [] { [[maybe_unused]] const ssize_t written = write(2, "x", 1); }},
    {"socket", [] { socket(AF_INET, SOCK_STREAM, 0); }},
    {"connect", [] { syscall(SYS_connect, 3, nullptr, 0); }},
    {"execve", [] { execl("/bin/true", "true", nullptr); }},
    {"fork", [] { fork(); }},
    {"clone", [] { syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }},
    {"ptrace", [] { ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }},
    {"process_vm_readv", [] { syscall(SYS_process_vm_readv, 1, nullptr, 0, nullptr, 0, 0); }},
    {"kill", [] { syscall(SYS_kill, 1, 0); }},
    {"setuid", [] { syscall(SYS_setuid, 0); }},
    {"bpf", [] { syscall(SYS_bpf, 0, nullptr, 0); }},
    {"perf_event_open", [] { syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0); }},
    {"mount", [] { syscall(SYS_mount, nullptr, nullptr, nullptr, 0, nullptr); }},
    {"unlink", [] { unlink("/tmp/polytop-parser-was-here"); }},
    {"stat", [] { syscall(SYS_newfstatat, AT_FDCWD, "/etc/passwd", nullptr, 0); }},
    {"ioctl", [] { syscall(SYS_ioctl, 3, 0, 0); }},
    {"prctl", [] { syscall(SYS_prctl, 0, 0, 0, 0, 0); }},
    {"setrlimit", [] { syscall(SYS_prlimit64, 0, RLIMIT_AS, nullptr, nullptr); }},
    {"sched_setscheduler", [] { syscall(SYS_sched_setscheduler, 0, SCHED_RR, nullptr); }},
    {"setpriority", [] { syscall(SYS_setpriority, PRIO_PROCESS, 0, -20); }},
    {"capset", [] { syscall(SYS_capset, nullptr, nullptr); }},
    {"unshare", [] { syscall(SYS_unshare, 0); }},
    {"setns", [] { syscall(SYS_setns, -1, 0); }},
    {"chroot", [] { syscall(SYS_chroot, "/"); }},
    {"rename", [] { syscall(SYS_renameat2, AT_FDCWD, "/tmp/polytop-a", AT_FDCWD, "/tmp/polytop-b", 0); }},
    {"symlink", [] { syscall(SYS_symlinkat, "/etc", AT_FDCWD, "/tmp/polytop-parser-was-here"); }},
    {"chmod", [] { syscall(SYS_fchmodat, AT_FDCWD, "/tmp/polytop-parser-was-here", 0); }},
    {"truncate", [] { syscall(SYS_ftruncate, 3, 0); }},
    {"pwrite", [] { syscall(SYS_pwrite64, 3, "x", 1, 0); }},
    {"bind", [] { syscall(SYS_bind, 3, nullptr, 0); }},
    {"accept", [] { syscall(SYS_accept4, 3, nullptr, nullptr, 0); }},
    {"sendmsg", [] { syscall(SYS_sendmsg, 3, nullptr, 0); }},
    {"pidfd_getfd", [] { syscall(SYS_pidfd_getfd, -1, 0, 0); }},
    {"process_vm_writev", [] { syscall(SYS_process_vm_writev, 1, nullptr, 0, nullptr, 0, 0); }},
    {"shmget", [] { syscall(SYS_shmget, 0, 4096, 0600); }},
    {"memfd_create", [] { syscall(SYS_memfd_create, "x", 0); }},
    {"keyctl", [] { syscall(SYS_keyctl, 0, 0, 0, 0, 0); }},
    {"reboot", [] { syscall(SYS_reboot, 0, 0, 0, nullptr); }},
    {"init_module", [] { syscall(SYS_init_module, nullptr, 0, nullptr); }},
    {"io_uring_setup", [] { syscall(SYS_io_uring_setup, 1, nullptr); }},
    {"userfaultfd", [] { syscall(SYS_userfaultfd, 0); }},
    {"memory that is code", [] { mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }},
    {"memory that becomes code", [] { syscall(SYS_mprotect, nullptr, 4096, PROT_EXEC); }},
    {"memory of a file", [] { mmap(nullptr, 4096, PROT_READ, MAP_SHARED, 3, 0); }},
};

/// What becomes of a process that makes a call.
struct End {
  bool returned = false;  ///< the call did
  int signal = 0;         ///< that ended the process; 0: none
};

/// Makes the call in a process of its own, when `confine`, which is given its parent, has returned true there.
template <typename Confine>
End endOf(Confine confine, void (*call)()) {
  void* memory = mmap(nullptr, sizeof(bool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return {};
  auto* returned = new (memory) volatile bool(false);
  const pid_t parent = getpid(), child = fork();
  if (child == 0) {
    if (!confine(parent)) _exit(1);
    call();
    *returned = true;
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const End end = {*returned, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
  munmap(memory, sizeof(bool));
  return end;
}

/// Makes each of the calls in a confined process of its own. `allowed`: the one that it may make.
template <typename Confine>
void checkDenied(Confine confine, const std::string& allowed = "") {
  for (const Call& call : kDenied) {
    const End end = endOf(confine, call.make);
    const bool isDenied = !end.returned && end.signal == SIGSYS;
    std::printf("%s: %s\n", call.what, isDenied ? "killed" : "may be made");
    check(isDenied == (call.what != allowed), call.what);
  }
}

}  // namespace polytop
