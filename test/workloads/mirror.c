// SPDX-License-Identifier: Apache-2.0
/* A FUSE file system that shows the files of another folder: mirror FOLDER MOUNTPOINT. Stopped, it answers nobody. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int folder;

/* Paths begin with a slash; the folder itself is ".". */
static const char* relative(const char* path) { return path[1] ? path + 1 : "."; }

static int mirror_getattr(const char* path, struct stat* status, struct fuse_file_info* info) {
  (void)info;
  return fstatat(folder, relative(path), status, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
}

static int mirror_open(const char* path, struct fuse_file_info* info) {
  int fd = openat(folder, relative(path), O_RDONLY | O_CLOEXEC);

  info->fh = fd;
  return fd < 0 ? -errno : 0;
}

static int mirror_read(const char* path, char* to, size_t size, off_t offset, struct fuse_file_info* info) {
  ssize_t got = pread(info->fh, to, size, offset);

  (void)path;
  return got < 0 ? -errno : got;
}

static int mirror_release(const char* path, struct fuse_file_info* info) {
  (void)path;
  return close(info->fh);
}

static const struct fuse_operations operations = {
    .getattr = mirror_getattr,
    .open = mirror_open,
    .read = mirror_read,
    .release = mirror_release,
};

int main(int argc, char** argv) {
  char* options[] = {argv[0], "-f", "-o", "attr_timeout=0", argc > 2 ? argv[2] : ""};

  folder = argc > 2 ? open(argv[1], O_PATH | O_DIRECTORY) : -1;
  if (folder < 0) {
    fprintf(stderr, "usage: mirror FOLDER MOUNTPOINT\n");
    return 2;
  }
  return fuse_main(5, options, &operations, NULL);
}
