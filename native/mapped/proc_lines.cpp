// SPDX-License-Identifier: Apache-2.0
#include "mapped/proc_lines.h"

#include <cstdio>
#include <sstream>

namespace polytop {

std::optional<Mapping> readMapping(const std::string& line) {
  // start-end permissions offset device inode path
  unsigned long long start = 0, end = 0, offset = 0, inode = 0;
  unsigned majorNumber = 0, minorNumber = 0;
  char permissions[5] = {};
  int length = 0;
  if (sscanf(line.c_str(), "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, permissions, &offset, &majorNumber,
             &minorNumber, &inode, &length) != 7 ||
      permissions[2] != 'x' || inode == 0)
    return std::nullopt;
  return Mapping{start, end, offset, majorNumber << 20 | minorNumber, inode, line.substr(static_cast<size_t>(length))};
}

std::optional<Mount> readMount(const std::string& line) {
  // id parent major:minor root mountpoint options [fields] - type source options
  std::istringstream fields(line);
  Mount mount;
  std::string parent, device;
  fields >> mount.id >> parent >> device >> mount.root >> mount.point;
  unsigned majorNumber = 0, minorNumber = 0;
  const size_t separator = line.find(" - ");
  if (!fields || separator == std::string::npos) return std::nullopt;
  if (sscanf(device.c_str(), "%u:%u", &majorNumber, &minorNumber) != 2) return std::nullopt;
  mount.device = majorNumber << 20 | minorNumber;
  const size_t type = separator + 3;
  mount.type = line.substr(type, line.find(' ', type) - type);
  return mount;
}

}  // namespace polytop
