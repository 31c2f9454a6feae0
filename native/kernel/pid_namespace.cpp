// SPDX-License-Identifier: Apache-2.0
#include "kernel/pid_namespace.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace polytop {

namespace {

/// The pid of this process in /proc, 0 if it is not there.
unsigned long ownPidInProc() {
  char link[NAME_MAX] = {};
  return readlink("/proc/self", link, sizeof link - 1) > 0 ? strtoul(link, nullptr, 10) : 0;
}

/// How many PID namespaces below that of /proc this process is in: NSpid of proc_pid_status(5) has its pid in each of
/// them, from that of /proc on.
uint64_t levelsBelowProc() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("NSpid:")) continue;
    std::istringstream numbers(line.substr(line.find(':') + 1));
    uint64_t count = 0;
    for (unsigned long pid = 0; numbers >> pid;) count++;
    return count > 0 ? count - 1 : 0;
  }
  return 0;
}

}  // namespace

void useNamespaceOfProc(const Session& session) {
  namespace_question question = {levelsBelowProc()};
  LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &question, .ctx_size_in = sizeof question);
  if (bpf_prog_test_run_opts(session.programFd("choose_namespace"), &options) != 0)
    throw Failure("the kernel does not tell the PID namespace", errno);
  const unsigned long pid = ownPidInProc();
  if (pid == 0 || options.retval != pid)
    throw Failure("/proc shows the processes of another PID namespace: mount -t proc proc /proc", ENOTSUP);
}

}  // namespace polytop
