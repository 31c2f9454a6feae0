// SPDX-License-Identifier: Apache-2.0
//
// polytop-launch PROGRAM ARGUMENT…: gives up, for good, what of root's rights polytop does not need, and becomes
// PROGRAM. Capabilities belong to threads, and Node has some as soon as it runs: so this comes before it. Whoever is
// not root keeps what they have. For the same reason it is here that polytop gets its place before what keeps all CPUs
// busy: later, its start has waited in line already.
//
// It calls nothing of stdio, which is two thirds of a static program of this size.
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "events/tracing_mount.h"
#include "turns/priority.h"

namespace {

constexpr uint64_t bitOf(int capability) { return uint64_t{1} << capability; }

/// What polytop needs while it runs. README has the first six.
constexpr uint64_t kNeeded = bitOf(CAP_BPF) | bitOf(CAP_PERFMON) |                 // programs in the kernel, samples
                             bitOf(CAP_SYS_PTRACE) | bitOf(CAP_DAC_READ_SEARCH) |  // /proc, files and memory of others
                             bitOf(CAP_CHECKPOINT_RESTORE) |                       // /proc/PID/map_files
                             bitOf(CAP_SYSLOG) |                                   // names of the kernel's functions
                             bitOf(CAP_SYS_NICE) |                                 // samples do not wait in line
                             bitOf(CAP_SYS_RESOURCE) |                             // locked memory, before 5.11
                             bitOf(CAP_SETUID) | bitOf(CAP_SETGID) | bitOf(CAP_SETPCAP) |
                             bitOf(CAP_KILL);  // the parser is another user

/// Distributions have levels of kernel.perf_event_paranoid above 2. There perf_event_open(2) of some asks for
/// CAP_SYS_ADMIN, whatever else one may: Ubuntu's, and Debian's 5.10.
bool isMoreParanoid() {
  const int file = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);
  char level[16] = {};
  const bool isRead = file >= 0 && read(file, level, sizeof level - 1) > 0;
  if (file >= 0) close(file);
  return !isRead || atoi(level) > 2;
}

/// What is written into a folder of another user, by `w` say, needs CAP_DAC_OVERRIDE, and is given to who called sudo
/// by CAP_CHOWN.
uint64_t neededHere() {
  uint64_t needed = kNeeded;
  const char* const caller = getenv("SUDO_UID");
  if (caller && atoi(caller) > 0) needed |= bitOf(CAP_CHOWN);
  struct stat here = {};
  if (stat(".", &here) == 0 && here.st_uid != 0) needed |= bitOf(CAP_DAC_OVERRIDE);
  if (isMoreParanoid()) needed |= bitOf(CAP_SYS_ADMIN);
  return needed;
}

/// Root gets back, with each program that it becomes, what the bounding set allows.
bool giveUpAllBut(uint64_t needed) {
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++) {
    if ((needed & bitOf(capability)) == 0 && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) return false;
  }
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (syscall(SYS_capget, &header, sets) != 0) return false;
  for (int i = 0; i < 2; i++) {
    const auto half = static_cast<uint32_t>(needed >> (32 * i));
    sets[i] = {sets[i].effective & half, sets[i].permitted & half, 0};
  }
  return syscall(SYS_capset, &header, sets) == 0;
}

/// Tracepoints are read in the file system for tracing. Where nobody has mounted it, only who still has CAP_SYS_ADMIN
/// can have it: it is had here, in no folder of the machine, and left to polytop.
void keepTracing() {
  if (polytop::findTracing()) return;
  const int mount = polytop::mountTracing();
  if (mount >= 0) dup2(mount, polytop::kTracingDescriptor);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  polytop::raisePriority();
  // Without CAP_SETPCAP root has few rights anyway, say in a container; it goes on with those.
  if (geteuid() == 0) {
    keepTracing();
    giveUpAllBut(neededHere());
  }
  execvp(argv[1], argv + 1);
  const char* const parts[] = {"polytop: ", argv[1], ": ", strerror(errno), "\n"};
  for (const char* part : parts) write(STDERR_FILENO, part, strlen(part));
  return 1;
}
