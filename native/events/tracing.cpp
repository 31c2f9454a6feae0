// SPDX-License-Identifier: Apache-2.0
#include "events/tracing.h"

#include <linux/mount.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "util/failure.h"
#include "util/file_descriptor.h"

namespace polytop {

namespace {

constexpr const char* kPlaces[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
constexpr long kTracingMagic = 0x74726163;  // TRACEFS_MAGIC of include/uapi/linux/magic.h

bool isTracing(const char* path) {
  struct statfs facts = {};
  return statfs(path, &facts) == 0 && facts.f_type == kTracingMagic && access(path, R_OK | X_OK) == 0;
}

/// Mounts it nowhere (fsopen() and fsmount(), Linux 5.2).
FileDescriptor mountAside() {
  FileDescriptor context(static_cast<int>(syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
  if (!context.valid()) throw Failure("the file system for tracing cannot be had", errno);
  if (syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    throw Failure("the file system for tracing cannot be had", errno);
  FileDescriptor mount(
      static_cast<int>(syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC)));
  if (!mount.valid()) throw Failure("the file system for tracing cannot be mounted", errno);
  return mount;
}

}  // namespace

std::string openTracing() {
  for (const char* place : kPlaces) {
    if (isTracing(place)) return place;
  }
  static const FileDescriptor mount = mountAside();
  return "/proc/self/fd/" + std::to_string(mount.get());
}

}  // namespace polytop
