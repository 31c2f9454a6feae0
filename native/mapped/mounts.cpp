// SPDX-License-Identifier: Apache-2.0
#include "mapped/mounts.h"

#include <fstream>
#include <optional>

#include "mapped/identity.h"
#include "mapped/mapped_file.h"
#include "mapped/proc_lines.h"
#include "mapped/remote_file.h"
#include "util/process.h"

namespace polytop {

namespace {

constexpr size_t kMaxVisiblePaths = 8;

constexpr const char* kOwnFolder = "/proc/self";

/// The first mount that `fits` in the list of the process with that folder.
template <typename Fits>
std::optional<Mount> findMount(const std::string& process, Fits fits) {
  std::ifstream mounts(process + "/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::optional<Mount> mount = readMount(line);
    if (mount && fits(*mount)) return mount;
  }
  return std::nullopt;
}

template <typename Fits>
std::optional<Mount> findMount(uint32_t tgid, Fits fits) {
  std::optional<Mount> theirs = findMount(livingFolder(static_cast<pid_t>(tgid)), fits);
  return theirs ? theirs : findMount(kOwnFolder, fits);
}

std::optional<Mount> mountOf(int fd, uint32_t tgid) {
  struct statx known = {};
  if (!lookAt(fd, known) || !(known.stx_mask & STATX_MNT_ID)) return std::nullopt;
  return findMount(tgid, [&](const Mount& mount) { return mount.id == known.stx_mnt_id; });
}

}  // namespace

uint32_t mountedDevice(int fd, uint32_t tgid) {
  const std::optional<Mount> mount = mountOf(fd, tgid);
  return mount ? mount->device : 0;
}

bool isRemote(int fd, uint32_t tgid) {
  const std::optional<Mount> mount = mountOf(fd, tgid);
  return !mount || isRemoteType(mount->type);
}

bool LocalDevices::holds(uint32_t tgid, uint32_t device, uint64_t now) {
  if (now >= since_ + kGoodFor) {
    known_.clear();
    since_ = now;
  }
  if (known_.contains(device)) return true;
  // A process may not see the mount that another one sees: only what was found is remembered.
  const std::optional<Mount> mount = findMount(tgid, [&](const Mount& it) { return it.device == device; });
  if (!mount || isRemoteType(mount->type)) return false;
  known_.insert(device);
  return true;
}

std::vector<std::string> visiblePaths(const file_record& record) {
  std::vector<std::string> paths;
  const std::string inside = recordPath(record);
  findMount(kOwnFolder, [&](const Mount& mount) {
    const std::string root = mount.root == "/" ? "" : mount.root;
    const std::string point = mount.point == "/" ? "" : mount.point;
    if (mount.device == record.key.device && inside.starts_with(root + "/"))
      paths.push_back(point + inside.substr(root.size()));
    return paths.size() >= kMaxVisiblePaths;
  });
  return paths;
}

}  // namespace polytop
