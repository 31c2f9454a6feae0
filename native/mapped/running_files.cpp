// SPDX-License-Identifier: Apache-2.0
#include "mapped/running_files.h"

#include <dirent.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "util/clock.h"
#include "util/process.h"

namespace polytop {

namespace {

constexpr uint64_t kLongest = 100'000'000;  ///< nanoseconds of CPU time

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

/// Whether a process is on a CPU or waits for one: `R` behind the name in proc_pid_stat(5).
bool isRunning(const std::string& process) {
  std::ifstream file(process + "/stat");
  std::string stat;
  std::getline(file, stat);
  const size_t name = stat.rfind(')');
  return name != std::string::npos && stat.compare(name, 3, ") R") == 0;
}

file_record recordOf(const Mapping& mapping, uint32_t pid) {
  file_record record = {};
  record.type = RECORD_FILE;
  record.tgid = pid;
  record.key.inode = mapping.inode;
  record.key.device = mapping.device;
  record.vma_start = mapping.start;
  record.vma_end = mapping.end;
  record.vma_offset = mapping.offset;
  return record;
}

}  // namespace

bool recordOfFile(int fd, file_record& record) {
  // What the kernel says of a mapping is what it says of a program's.
  const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
  if (mapped == MAP_FAILED) return false;
  bool isFound = false;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; !isFound && std::getline(maps, line);) {
    const std::optional<Mapping> mapping = readMapping(line);
    isFound = mapping && mapping->start == reinterpret_cast<uint64_t>(mapped);
    if (isFound) record = recordOf(*mapping, static_cast<uint32_t>(getpid()));
  }
  munmap(mapped, size);
  return isFound;
}

Processes findProcesses(const std::function<bool(uint32_t)>& isWanted) {
  Processes found;
  const std::unique_ptr<DIR, CloseFolder> folder(opendir("/proc"));
  for (const dirent* item; folder && (item = readdir(folder.get()));) {
    const auto pid = static_cast<uint32_t>(strtoul(item->d_name, nullptr, 10));
    if (pid == 0 || !isWanted(pid)) continue;
    // The calling process may wait for its other threads to find this out; it runs the next moment.
    const bool runs = pid == static_cast<uint32_t>(getpid()) || isRunning(std::string("/proc/") + item->d_name);
    (runs ? found.running : found.waiting).push_back(pid);
  }
  return found;
}

void eachMappedCode(uint32_t pid, const std::function<void(const Mapping&)>& use) {
  std::ifstream maps(livingFolder(static_cast<pid_t>(pid)) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (const std::optional<Mapping> mapping = readMapping(line)) use(*mapping);
  }
}

std::vector<file_record> executedFiles(const std::vector<uint32_t>& pids, const OnMapped& onMapped) {
  const uint64_t latest = clockNanoseconds(CLOCK_THREAD_CPUTIME_ID) + kLongest;
  struct Used {
    file_record file = {};
    uint64_t by = 0;
  };
  std::map<std::pair<uint32_t, uint64_t>, Used> used;
  for (const uint32_t pid : pids) {
    if (clockNanoseconds(CLOCK_THREAD_CPUTIME_ID) > latest) break;
    eachMappedCode(pid, [&](const Mapping& mapping) {
      Used& entry = used[{mapping.device, mapping.inode}];
      entry.by++;
      entry.file = recordOf(mapping, pid);
      onMapped(pid, mapping);
    });
  }
  std::vector<const Used*> order;
  for (const auto& [identity, entry] : used) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->by > b->by; });
  std::vector<file_record> files;
  for (const Used* entry : order) files.push_back(entry->file);
  return files;
}

}  // namespace polytop
