// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/mount.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace polytop {

/// The descriptor of a mount of it that the launcher leaves, where it is mounted nowhere and so many may be open.
constexpr int kTracingDescriptor = 255;

/// Says whether the kernel's file system for tracing is there, and may be read.
inline bool isTracing(const char* path) {
  constexpr long kMagic = 0x74726163;  // TRACEFS_MAGIC of include/uapi/linux/magic.h
  struct statfs facts = {};
  return statfs(path, &facts) == 0 && facts.f_type == kMagic && access(path, R_OK | X_OK) == 0;
}

/// Where the file system is mounted, of the places where most machines have it; null: in none of them.
inline const char* findTracing() {
  constexpr const char* kPlaces[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
  for (const char* place : kPlaces) {
    if (isTracing(place)) return place;
  }
  return nullptr;
}

/// Mounts it nowhere (fsopen() and fsmount(), Linux 5.2), to be read only. Returns a descriptor; -1 with errno where it
/// cannot be had, as without CAP_SYS_ADMIN.
inline int mountTracing() {
  const auto context = static_cast<int>(syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC));
  if (context < 0) return -1;
  int mount = -1;
  if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0)
    mount = static_cast<int>(syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC));
  close(context);
  return mount;
}

}  // namespace polytop
