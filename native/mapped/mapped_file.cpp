// SPDX-License-Identifier: Apache-2.0
#include "mapped/mapped_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "mapped/identity.h"
#include "mapped/mounts.h"
#include "util/process.h"

namespace polytop {

namespace {

/// A mapping as proc_pid_maps(5) tells of it: start-end permissions offset device inode path
struct Mapping {
  unsigned long long start = 0, end = 0, inode = 0;
  uint32_t device = 0;

  /// Whether it maps the inode of the key. The kernel names both by the file that is really mapped, where stat(2)
  /// tells an inode of overlayfs (before 6.12) or a device of a subvolume.
  bool isOf(const file_key& key) const { return inode == key.inode && device == key.device; }
};

/// The first mapping of a process that `fits`; one that ends at 0 if there is none.
template <typename Fits>
Mapping findMapping(uint32_t tgid, Fits fits) {
  std::ifstream maps(livingFolder(static_cast<pid_t>(tgid)) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    Mapping mapping;
    unsigned majorNumber = 0, minorNumber = 0;
    if (sscanf(line.c_str(), "%llx-%llx %*s %*s %x:%x %llu", &mapping.start, &mapping.end, &majorNumber, &minorNumber,
               &mapping.inode) != 5)
      continue;
    mapping.device = majorNumber << 20 | minorNumber;
    if (fits(mapping)) return mapping;
  }
  return {};
}

/// Whether what is known of a file has the inode and time of the key, in a device that is not looked at.
bool fitsKey(const struct statx& known, const file_key& key) {
  return known.stx_ino == key.inode && (key.ctime == 0 || changeTime(known) == key.ctime);
}

/// Opens what an O_PATH descriptor names for reading, if `isRecorded` says so of what is known of it.
template <typename IsRecorded>
FileDescriptor reopen(const FileDescriptor& named, std::string& why, IsRecorded isRecorded) {
  struct statx known = {};
  FileDescriptor file;
  if (!lookAt(named.get(), known)) {
    why = strerror(errno);
  } else if (!S_ISREG(known.stx_mode)) {
    why = "not a regular file";
  } else if (isRecorded(known)) {
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
  snprintf(link, sizeof link, "%s/map_files/%llx-%llx", livingFolder(static_cast<pid_t>(tgid)).c_str(),
           static_cast<unsigned long long>(start), static_cast<unsigned long long>(end));
  FileDescriptor file(open(link, O_PATH | O_CLOEXEC));
  if (file.valid()) path = readLink(link);
  return file;
}

/// Opens a mapping of the process if it is of the file of the record.
FileDescriptor openIfRecorded(const file_record& record, const Mapping& mapping, std::string& path, std::string& why) {
  const file_key& key = record.key;
  const FileDescriptor named = openMapping(record.tgid, mapping.start, mapping.end, path);
  if (!named.valid()) {
    if (errno != ENOENT && errno != ESRCH) why = strerror(errno);
    return {};
  }
  return reopen(named, why, [&](const struct statx& known) {
    if (fitsKey(known, key) && deviceOf(known) == key.device) return true;
    // Asked after it was opened: had another file been mapped there meanwhile, its time would be another one.
    return key.ctime != 0 && changeTime(known) == key.ctime && findMapping(record.tgid, [&](const Mapping& it) {
                                                                 return it.start == mapping.start &&
                                                                        it.end == mapping.end && it.isOf(key);
                                                               }).end != 0;
  });
}

/// Opens the process's root unless it is our own root.
FileDescriptor openForeignRoot(uint32_t tgid) {
  const std::string path = livingFolder(static_cast<pid_t>(tgid)) + "/root";
  FileDescriptor root(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const FileDescriptor ours(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct statx theirRoot = {}, ourRoot = {};
  if (!lookAt(root.get(), theirRoot) || !lookAt(ours.get(), ourRoot)) return {};
  const bool isOurs = theirRoot.stx_ino == ourRoot.stx_ino && deviceOf(theirRoot) == deviceOf(ourRoot);
  return isOurs || isRemote(root.get(), tgid) ? FileDescriptor() : std::move(root);
}

FileDescriptor openWithoutLinks(const std::string& path) {
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return FileDescriptor(static_cast<int>(syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
}

}  // namespace

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
  Mapping mapping;
  mapping.start = record.vma_start;
  mapping.end = record.vma_end;
  file.file = openIfRecorded(record, mapping, path, file.why);
  if (!file.file.valid() && file.why.empty()) {
    // The mapping that was sampled may have been split or joined since.
    mapping = findMapping(record.tgid, [&](const Mapping& it) { return it.isOf(record.key); });
    if (mapping.end) file.file = openIfRecorded(record, mapping, path, file.why);
  }
  if (file.file.valid()) {
    if (!path.empty()) file.path = path;
    file.root = openForeignRoot(record.tgid);
    return file;
  }
  if (!file.why.empty()) return file;
  for (const std::string& visible : visiblePaths(record)) {
    const FileDescriptor found = openWithoutLinks(visible);
    if (!found.valid()) continue;
    std::string ignored;  // another file at this path: the next one may be it
    file.file = reopen(found, ignored, [&](const struct statx& known) {
      return fitsKey(known, record.key) &&
             (deviceOf(known) == record.key.device || mountedDevice(found.get(), record.tgid) == record.key.device);
    });
    if (file.file.valid()) {
      file.path = visible;
      return file;
    }
  }
  file.gone = true;
  return file;
}

}  // namespace polytop
