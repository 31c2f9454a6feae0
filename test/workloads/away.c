// SPDX-License-Identifier: Apache-2.0
/*
 * A thread waits whose outer stack pages are away. `away userfaultfd`: they are nowhere, and whoever touches them waits
 * for ever. `away fuse`: they are pages of a file whose file system answers no more; who asks it for one ends the
 * program. `away swap`: they are swapped out, on a machine that has swap.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES (64 << 10)
#define PAGE 4096
#define STAYS __asm__ volatile("")

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

static char* stack;
static int device, file;               /* of the file system; that the stack is pages of */
static volatile sig_atomic_t* answers; /* the file system does */
static void (*send_away)(void* begin, size_t size);

static void must(int holds, const char* what) {
  if (holds) return;
  perror(what);
  _exit(2);
}

static void drop_watched(void* begin, size_t size) {
  int faults = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
  struct uffdio_api api = {.api = UFFD_API};
  struct uffdio_register range = {{(uintptr_t)begin, size}, UFFDIO_REGISTER_MODE_MISSING, 0};

  must(faults >= 0 && !ioctl(faults, UFFDIO_API, &api) && !ioctl(faults, UFFDIO_REGISTER, &range), "userfaultfd");
  madvise(begin, size, MADV_DONTNEED);
}

static void drop_file(void* begin, size_t size) {
  struct {
    struct fuse_out_header header;
    struct fuse_notify_inval_inode_out file;
  } news = {{sizeof news, FUSE_NOTIFY_INVAL_INODE, 0}, {.ino = 1}};

  *answers = 0;
  /* What was written is private to the process; what the kernel keeps of the file goes as well. */
  must(!madvise(begin, size, MADV_DONTNEED) && write(device, &news, sizeof news) == sizeof news, "drop");
  /* When the server ends, so does the file system: nobody else may have it open. */
  close(device);
}

static void swap_out(void* begin, size_t size) { must(!madvise(begin, size, MADV_PAGEOUT), "MADV_PAGEOUT"); }

/*
 * The stack above the frame of this function goes away: its own frame is on pages that stay, and so is the outer end,
 * where the C library keeps what it knows of the thread and the kernel writes.
 */
__attribute__((noinline)) static void wait_far_in(void) {
  char inner[4 * PAGE];
  uintptr_t end = (uintptr_t)stack + STACK_BYTES - 3 * PAGE;
  uintptr_t begin = ((uintptr_t)inner + sizeof inner + 2 * PAGE) & ~(PAGE - 1UL);

  memset(inner, 0, sizeof inner);
  __asm__ volatile("" : : "r"(inner) : "memory");
  send_away((void*)begin, end - begin);
  for (;;) pause();
}
__attribute__((noinline)) static void call_far_in(void) {
  char middle[3 * PAGE];

  memset(middle, 0, sizeof middle);
  __asm__ volatile("" : : "r"(middle) : "memory");
  wait_far_in();
  STAYS;
}
__attribute__((noinline)) static void call_from_stay(void) {
  char outer[3 * PAGE];

  memset(outer, 0, sizeof outer);
  __asm__ volatile("" : : "r"(outer) : "memory");
  call_far_in();
  STAYS;
}
static void* run(void* unused) {
  call_from_stay();
  return unused;
}

static void reply(uint64_t to, const void* body, size_t size) {
  char message[sizeof(struct fuse_out_header) + STACK_BYTES];
  struct fuse_out_header header = {.len = sizeof header + size, .unique = to};

  memcpy(message, &header, sizeof header);
  memcpy(message + sizeof header, body, size);
  must(write(device, message, header.len) == (ssize_t)header.len, "reply");
}

/* A file system of one file of zeros: include/uapi/linux/fuse.h. */
static void serve(void) {
  static char request[FUSE_MIN_READ_BUFFER + STACK_BYTES];
  const struct fuse_in_header* header = (void*)request;

  while (read(device, request, sizeof request) > 0) {
    struct fuse_attr_out attributes = {.attr_valid = 3600};
    struct fuse_init_out start = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = PAGE};
    struct fuse_open_out opened = {.open_flags = FOPEN_KEEP_CACHE};
    static const char zeros[STACK_BYTES];

    attributes.attr.ino = 1;
    attributes.attr.nlink = 1;
    attributes.attr.mode = S_IFREG | 0600;
    attributes.attr.size = STACK_BYTES;
    if (header->opcode == FUSE_INIT) reply(header->unique, &start, sizeof start);
    if (header->opcode == FUSE_GETATTR) reply(header->unique, &attributes, sizeof attributes);
    if (header->opcode == FUSE_OPEN) reply(header->unique, &opened, sizeof opened);
    if (header->opcode == FUSE_FLUSH || header->opcode == FUSE_RELEASE) reply(header->unique, NULL, 0);
    if (header->opcode == FUSE_READ) {
      const struct fuse_read_in* asked = (void*)(header + 1);
      if (!*answers) kill(getppid(), SIGKILL);
      reply(header->unique, zeros, asked->size < STACK_BYTES ? asked->size : STACK_BYTES);
    }
  }
  _exit(0);
}

/* Mounts the file system over a file, for this process alone. */
static void mount_file(void) {
  char path[] = "/tmp/polytop-away-XXXXXX", options[100];
  struct stat status;

  device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  close(mkstemp(path));
  snprintf(options, sizeof options, "fd=%d,rootmode=%o,user_id=0,group_id=0", device, S_IFREG | 0600);
  must(!unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "namespace");
  must(!mount("away", path, "fuse", MS_NOSUID | MS_NODEV, options), "mount");
  answers = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  *answers = 1;
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    serve();
  }
  file = open(path, O_RDWR);
  /* The kernel asks for the size. */
  must(file >= 0 && !fstat(file, &status) && status.st_size == STACK_BYTES, path);
  umount2(path, MNT_DETACH);
  unlink(path);
}

int main(int count, char** arguments) {
  const char* kind = count > 1 ? arguments[1] : "";
  pthread_attr_t attributes;
  pthread_t thread;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (strcmp(kind, "userfaultfd") == 0) send_away = drop_watched;
  if (strcmp(kind, "swap") == 0) send_away = swap_out;
  if (strcmp(kind, "fuse") == 0) {
    send_away = drop_file;
    mount_file();
    flags = MAP_PRIVATE;
  }
  stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, flags, file ? file : -1, 0);
  must(send_away && stack != MAP_FAILED, kind);
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, STACK_BYTES);
  pthread_create(&thread, &attributes, run, NULL);
  for (;;) pause();
}
