// SPDX-License-Identifier: Apache-2.0
#include "files/mapped_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "files/remote_file.h"

namespace polytop {

namespace {

constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;

bool isRecorded(const struct stat& status, const file_key& key) {
  return status.st_ino == key.inode && (key.mtime == 0 || modificationTime(status) == key.mtime);
}

/// Opens what an O_PATH descriptor names for reading, if it is the file of the record.
FileDescriptor reopenRecorded(const FileDescriptor& named, const file_key& key, std::string& why) {
  struct stat status = {};
  FileDescriptor file;
  if (fstat(named.get(), &status) != 0) {
    why = strerror(errno);
  } else if (!S_ISREG(status.st_mode)) {
    why = "not a regular file";
  } else if (isRecorded(status, key)) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", named.get());
    file = FileDescriptor(open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!file.valid()) why = strerror(errno);
  }
  return file;
}

std::string readLink(const char* link) {
  char target[4096];
  const ssize_t length = readlink(link, target, sizeof target);
  std::string path = length > 0 ? std::string(target, static_cast<size_t>(length)) : "";
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
  return path;
}

/// Opens a mapping of the process by its link in map_files, as O_PATH; invalid with errno set on error.
FileDescriptor openMapping(uint32_t tgid, uint64_t start, uint64_t end, std::string& path) {
  char link[128];
  snprintf(link, sizeof link, "/proc/%u/map_files/%llx-%llx", tgid, static_cast<unsigned long long>(start),
           static_cast<unsigned long long>(end));
  FileDescriptor file(open(link, O_PATH | O_CLOEXEC));
  if (file.valid()) path = readLink(link);
  return file;
}

/// Looks for another mapping of the inode: the one that was sampled may have been split or joined since.
FileDescriptor openOtherMapping(uint32_t tgid, uint64_t inode, std::string& path) {
  std::ifstream maps("/proc/" + std::to_string(tgid) + "/maps");
  std::string line;
  while (std::getline(maps, line)) {
    // proc_pid_maps(5): start-end permissions offset device inode path
    unsigned long long start = 0, end = 0, number = 0;
    if (sscanf(line.c_str(), "%llx-%llx %*s %*s %*s %llu", &start, &end, &number) != 3 || number != inode) continue;
    FileDescriptor file = openMapping(tgid, start, end, path);
    if (file.valid()) return file;
  }
  errno = ENOENT;
  return {};
}

/// What is known of a file without asking its file system.
struct statx knownOf(int fd) {
  struct statx status = {};
  statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &status);
  return status;
}

/// Opens the process's root unless it is our own root.
FileDescriptor openForeignRoot(uint32_t tgid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%u/root", tgid);
  FileDescriptor root(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return root;
  const struct statx theirs = knownOf(root.get());
  struct stat ours = {};
  const bool isOurs = stat("/", &ours) == 0 && ours.st_ino == theirs.stx_ino &&
                      ours.st_dev == makedev(theirs.stx_dev_major, theirs.stx_dev_minor);
  const bool isUseful = !isOurs && !isRemoteMount(tgid, theirs.stx_dev_major, theirs.stx_dev_minor);
  return isUseful ? std::move(root) : FileDescriptor();
}

/// The places where a path of the record's file system may be seen from here, by our own mounts.
std::vector<std::string> visiblePaths(const file_record& record) {
  std::vector<std::string> paths;
  const std::string inside = recordPath(record);
  std::ifstream mounts("/proc/self/mountinfo");
  std::string line;
  while (std::getline(mounts, line)) {
    // proc(5): id parent major:minor root mountpoint ...
    std::istringstream fields(line);
    std::string id, parent, device, root, point;
    fields >> id >> parent >> device >> root >> point;
    unsigned majorNumber = 0, minorNumber = 0;
    if (sscanf(device.c_str(), "%u:%u", &majorNumber, &minorNumber) != 2) continue;
    if ((majorNumber << 20 | minorNumber) != record.key.device) continue;
    if (root == "/") root.clear();
    if (!inside.starts_with(root + "/")) continue;
    if (point == "/") point.clear();
    paths.push_back(point + inside.substr(root.size()));
    if (paths.size() >= 8) break;
  }
  return paths;
}

FileDescriptor openWithoutLinks(const std::string& path) {
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return FileDescriptor(static_cast<int>(syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
}

}  // namespace

bool isRemoteMount(uint32_t tgid, unsigned majorNumber, unsigned minorNumber) {
  const std::string device = " " + std::to_string(majorNumber) + ":" + std::to_string(minorNumber) + " ";
  std::ifstream mounts("/proc/" + std::to_string(tgid) + "/mountinfo");
  std::string line;
  while (std::getline(mounts, line)) {
    // proc(5): id parent major:minor root mountpoint options [fields] - type source options
    const size_t separator = line.find(" - ");
    if (line.find(device) >= separator || separator == std::string::npos) continue;
    const size_t type = separator + 3;
    return isRemoteType(std::string_view(line).substr(type, line.find(' ', type) - type));
  }
  return false;
}

uint64_t modificationTime(const struct stat& status) {
  return static_cast<uint64_t>(status.st_mtim.tv_sec) * kNanosecondsPerSecond +
         static_cast<uint64_t>(status.st_mtim.tv_nsec);
}

std::string recordPath(const file_record& record) {
  std::string path;
  const uint32_t count = record.part_count < PATH_PARTS ? record.part_count : PATH_PARTS;
  for (uint32_t i = count; i-- > 0;) {
    path += '/';
    path.append(record.parts[i], strnlen(record.parts[i], PATH_PART_LENGTH));
  }
  return path;
}

MappedFile openMappedFile(const file_record& record) {
  MappedFile file;
  file.path = recordPath(record);
  std::string path;
  FileDescriptor mapping = openMapping(record.tgid, record.vma_start, record.vma_end, path);
  if (!mapping.valid() && errno == ENOENT) mapping = openOtherMapping(record.tgid, record.key.inode, path);
  if (mapping.valid()) {
    file.file = reopenRecorded(mapping, record.key, file.why);
    if (file.file.valid()) {
      if (!path.empty()) file.path = path;
      file.root = openForeignRoot(record.tgid);
      return file;
    }
    if (!file.why.empty()) return file;
  } else if (errno != ENOENT && errno != ESRCH) {
    file.why = strerror(errno);
  }
  for (const std::string& visible : visiblePaths(record)) {
    const FileDescriptor found = openWithoutLinks(visible);
    if (!found.valid()) continue;
    std::string ignored;  // another file at this path: the next one may be it
    file.file = reopenRecorded(found, record.key, ignored);
    if (file.file.valid()) {
      file.path = visible;
      file.why.clear();
      return file;
    }
  }
  file.gone = file.why.empty();
  return file;
}

}  // namespace polytop
