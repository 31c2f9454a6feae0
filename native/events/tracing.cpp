// SPDX-License-Identifier: Apache-2.0
#include "events/tracing.h"

#include <cerrno>

#include "events/tracing_mount.h"
#include "util/failure.h"
#include "util/file_descriptor.h"

namespace polytop {

namespace {

std::string pathOf(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

FileDescriptor mountAside() {
  FileDescriptor mount(mountTracing());
  if (!mount.valid()) throw Failure("the file system for tracing cannot be had", errno);
  return mount;
}

}  // namespace

std::string openTracing() {
  if (const char* place = findTracing()) return place;
  const std::string left = pathOf(kTracingDescriptor);
  if (isTracing(left.c_str())) return left;
  static const FileDescriptor mount = mountAside();
  return pathOf(mount.get());
}

}  // namespace polytop
