// SPDX-License-Identifier: Apache-2.0
//
// What libraries call to name files by their paths, as the linker lets them find it (paths.options): paths are nothing
// that this program may name, and a call that it may not make ends it.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace {

int refuse() {
  errno = EACCES;
  return -1;
}

}  // namespace

extern "C" {

/// fstat() by a system call that takes no path: the C library's passes an empty one.
int __wrap_fstat(int fd, struct stat* status) { return static_cast<int>(syscall(SYS_fstat, fd, status)); }
int __wrap_fstat64(int fd, struct stat* status) { return __wrap_fstat(fd, status); }

/// libdw 0.188 asks where a file lies, for files that it refers to, and opens them.
int __wrap_open(const char*, int, ...) { return refuse(); }
int __wrap_open64(const char*, int, ...) { return refuse(); }
char* __wrap_realpath(const char*, char*) {
  refuse();
  return nullptr;
}
}
