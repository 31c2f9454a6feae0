// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace polytop {

/// A command as it is to be started.
struct Command {
  std::vector<std::string> words;        ///< the program and its arguments
  std::vector<std::string> environment;  ///< NAME=value
  std::string user;                      ///< whose rights it gets; empty: those of this process
  uid_t uid = 0;
  gid_t gid = 0;
  int descriptors[3] = {0, 1, 2};  ///< what it has as input, output and error output; -1: nothing
};

/// How a command ended.
struct CommandEnd {
  int status = 0;  ///< its exit status, where no signal ended it
  int signal = 0;
};

/// The thread that starts commands. It starts nothing else: who samples its children meets none of polytop's own.
pid_t commandThread();

/// Has that thread start a command. Returns its pid; throws a Failure with the reason of the kernel.
pid_t startCommand(const Command& command);

/// Waits until it has ended. Any thread, once.
CommandEnd waitForCommand(pid_t pid);

/// CPU time of commands that have ended and of what they waited for: no cost of polytop's own.
uint64_t commandNanoseconds();

}  // namespace polytop
