// SPDX-License-Identifier: Apache-2.0
#include "mapped/identity.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <climits>
#include <string>
#include <thread>

#include "util/bytes.h"
#include "util/clock.h"
#include "util/hash.h"

namespace polytop {

namespace {

/// One tick of a kernel with 100 of them a second.
constexpr uint64_t kLongestTick = 10'000'000;
constexpr size_t kPieces = 16;
/// The notes of a program or library lie within its first bytes.
constexpr uint64_t kHeaders = 2048;

/// Words from places all over the file: its headers with the hash that linkers make of the content (build ID), its
/// tables at the end, its code between.
uint64_t hashPieces(int fd, uint64_t size) {
  std::array<uint64_t, 32> piece;
  uint64_t hash = size;
  const auto add = [&](uint64_t at) {
    piece = {};
    readSome(fd, at, piece.data(), sizeof piece);
    for (const uint64_t word : piece) hash = mix(hash, word);
  };
  for (size_t i = 0; i < kPieces && size > sizeof piece; i++) add((size - sizeof piece) / (kPieces - 1) * i);
  for (uint64_t at = sizeof piece; at < kHeaders; at += sizeof piece) add(at);
  return hash;
}

uint64_t nanoseconds(const struct statx_timestamp& time) {
  return static_cast<uint64_t>(time.tv_sec) * kNanosecondsPerSecond + time.tv_nsec;
}

/// FileContent::standing. The path of a file without a name is its last one and a word more.
uint64_t standingOf(int fd, const struct statx& known) {
  uint64_t hash = known.stx_nlink;
  for (const uint32_t word : {uint32_t{known.stx_mode}, known.stx_uid, known.stx_gid}) hash = mix(hash, word);
  std::array<char, PATH_MAX> path;
  const ssize_t length = readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path.data(), path.size());
  return hashBytes(reinterpret_cast<const uint8_t*>(path.data()), length > 0 ? static_cast<size_t>(length) : 0, hash);
}

bool isIn(int fd, uint32_t fileSystem) {
  struct statfs status = {};
  return fstatfs(fd, &status) == 0 && static_cast<uint32_t>(status.f_type) == fileSystem;
}

/// The number of the subvolume, as the kernel side reads it; 0 where there is none.
uint64_t volumeOf(int fd) {
  btrfs_ioctl_ino_lookup_args lookup = {};
  lookup.objectid = BTRFS_FIRST_FREE_OBJECTID;
  return isIn(fd, BTRFS_SUPER_MAGIC) && ioctl(fd, BTRFS_IOC_INO_LOOKUP, &lookup) == 0 ? lookup.treeid : 0;
}

}  // namespace

bool lookAt(int fd, struct statx& known) {
  constexpr unsigned kWanted = STATX_BASIC_STATS | STATX_MNT_ID;
  return fd >= 0 && statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, kWanted, &known) == 0;
}

uint32_t deviceOf(const struct statx& known) { return known.stx_dev_major << 20 | known.stx_dev_minor; }

uint64_t changeTime(const struct statx& known) { return nanoseconds(known.stx_ctime); }

uint32_t ownerOf(int fd) {
  struct statx known = {};
  return lookAt(fd, known) ? known.stx_uid : 0;
}

std::string nameOwner(int fd) {
  struct stat status = {};
  const bool isKnown = fd >= 0 && fstat(fd, &status) == 0 && status.st_nlink > 0;
  return isKnown ? ", a file of user " + std::to_string(status.st_uid) : "";
}

bool completeKey(int fd, Unsaid unsaid, file_key& key) {
  struct statx known = {};
  if (!lookAt(fd, known) || known.stx_nlink == 0) return false;
  int generation = 0;
  if (unsaid == Unsaid::kTimeAndGeneration) {
    // Overlayfs and file systems in memory do not tell it.
    if (ioctl(fd, FS_IOC_GETVERSION, &generation) != 0) return false;
    key.generation = static_cast<uint32_t>(generation);
  }
  key.ctime = changeTime(known);
  key.generation += static_cast<uint32_t>(volumeOf(fd)) * VOLUME_FACTOR;
  return true;
}

FileContent contentOf(int fd) {
  struct statx known = {};
  if (!lookAt(fd, known)) return {};
  return {changeTime(known),     nanoseconds(known.stx_mtime), known.stx_size,
          standingOf(fd, known), isIn(fd, TMPFS_MAGIC),        hashPieces(fd, known.stx_size)};
}

bool hasContent(int fd, const FileContent& content) {
  struct statx known = {};
  if (!lookAt(fd, known) || known.stx_size != content.size) return false;
  const bool isSameTime = changeTime(known) == content.changed;
  if (isSameTime && !content.isInMemory) return true;
  // Where nothing else changed, that time tells of its bytes: they were written, and their time was set back.
  if (!isSameTime && (nanoseconds(known.stx_mtime) != content.written || standingOf(fd, known) == content.standing))
    return false;
  return hashPieces(fd, known.stx_size) == content.hash;
}

void awaitNextTime(int fd) {
  struct statx known = {};
  if (!lookAt(fd, known)) return;
  const uint64_t now = clockNanoseconds(CLOCK_REALTIME), changed = changeTime(known);
  if (now >= changed && now - changed < kLongestTick)
    std::this_thread::sleep_for(std::chrono::nanoseconds(kLongestTick - (now - changed)));
}

}  // namespace polytop
