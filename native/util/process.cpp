// SPDX-License-Identifier: Apache-2.0
#include "util/process.h"

#include <dirent.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>

namespace polytop {

namespace {

/// Threads that end while they are looked at are passed by; nobody has so many of them.
constexpr int kMaxThreads = 64;

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

/// Whether a thread still has the root folder that it lets go of as it ends, after its memory (exit_mm() and exit_fs()
/// of Linux's kernel/exit.c).
bool isLiving(const std::string& thread) {
  char root;
  return readlink((thread + "/root").c_str(), &root, sizeof root) > 0;
}

}  // namespace

uint32_t userOfProcess(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Uid:")) return static_cast<uint32_t>(strtoul(line.c_str() + 4, nullptr, 10));
  }
  return kUnknownUser;
}

pid_t livingThread(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  if (isLiving(process)) return pid;
  const std::unique_ptr<DIR, CloseFolder> threads(opendir((process + "/task").c_str()));
  for (int looked = 0; threads && looked < kMaxThreads; looked++) {
    const dirent* thread = readdir(threads.get());
    if (!thread) break;
    if (thread->d_name[0] != '.' && isLiving(process + "/task/" + thread->d_name))
      return static_cast<pid_t>(strtol(thread->d_name, nullptr, 10));
  }
  return pid;
}

std::string livingFolder(pid_t pid) { return "/proc/" + std::to_string(livingThread(pid)); }

}  // namespace polytop
