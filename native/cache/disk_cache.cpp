// SPDX-License-Identifier: Apache-2.0
#include "cache/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "util/bytes.h"
#include "util/clock.h"
#include "util/hash.h"

namespace polytop {

namespace {

constexpr uint64_t kMagic = 0x31656863'61637470;  // "ptcache1"
constexpr uint64_t kMaxBytes = 256u << 20;
constexpr size_t kMaxEntry = 64u << 20;
constexpr size_t kMaxQueued = 8u << 20;
/// A disk with less room is left alone.
constexpr uint64_t kMinFree = 512u << 20;
constexpr int kWriterNice = 15;
/// An entry is marked as used so often at most, in seconds.
constexpr time_t kMarkSeconds = 3600;
constexpr std::string_view kUnfinished = "new-";

struct Header {
  uint64_t magic = kMagic;
  CacheKey key;
  uint64_t size = 0;
  uint64_t checksum = 0;
};
static_assert(std::has_unique_object_representations_v<Header>);

std::string nameOf(const CacheKey& key) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&key);
  char name[40];
  snprintf(name, sizeof name, "%016llx%016llx", static_cast<unsigned long long>(hashBytes(bytes, sizeof key, 1)),
           static_cast<unsigned long long>(hashBytes(bytes, sizeof key, 2)));
  return name;
}

/// Whether a file or folder is this user's alone.
bool isOwn(const struct stat& status) { return status.st_uid == geteuid() && (status.st_mode & 077) == 0; }

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

bool writeAll(int fd, const void* from, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t got = ::write(fd, static_cast<const uint8_t*>(from) + done, size - done);
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

void DiskCache::open(const std::string& parent) {
  const FileDescriptor above(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (parent.empty() || !above.valid()) return;
  mkdirat(above.get(), "polytop", 0700);
  FileDescriptor folder(openat(above.get(), "polytop", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status = {};
  if (!folder.valid() || fstat(folder.get(), &status) != 0 || !isOwn(status)) return;
  folder_ = std::move(folder);
  writer_ = std::thread([this] { work(); });
}

void DiskCache::close() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notifyAll();
  if (writer_.joinable()) writer_.join();
}

std::optional<std::vector<uint8_t>> DiskCache::read(const CacheKey& key) {
  if (!isOpen()) return std::nullopt;
  const FileDescriptor file(
      openat(folder_.get(), nameOf(key).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status = {};
  if (!file.valid() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || !isOwn(status) ||
      status.st_nlink != 1)
    return std::nullopt;
  Header header;
  const auto size = static_cast<size_t>(status.st_size);
  if (size < sizeof header || size > kMaxEntry || readSome(file.get(), 0, &header, sizeof header) < sizeof header)
    return std::nullopt;
  const bool isOfKey = header.magic == kMagic && memcmp(&header.key, &key, sizeof key) == 0;
  if (!isOfKey || header.size != size - sizeof header) return std::nullopt;
  std::vector<uint8_t> content = readBytes(file.get(), sizeof header, header.size);
  if (content.size() != header.size || hashBytes(content.data(), content.size(), header.size) != header.checksum)
    return std::nullopt;
  const timespec now = {static_cast<time_t>(clockNanoseconds(CLOCK_REALTIME) / kNanosecondsPerSecond), 0};
  const timespec times[] = {now, now};
  if (now.tv_sec > status.st_mtim.tv_sec + kMarkSeconds) futimens(file.get(), times);
  return content;
}

void DiskCache::write(const CacheKey& key, std::vector<uint8_t> content) {
  if (!isOpen() || content.size() > kMaxEntry - sizeof(Header)) return;
  {
    std::lock_guard lock(mutex_);
    if (queuedBytes_ + content.size() > kMaxQueued) return;
    queuedBytes_ += content.size();
    queue_.push_back({key, std::move(content)});
  }
  wake_.notifyAll();
}

void DiskCache::remove(const CacheKey& key) {
  if (isOpen()) unlinkat(folder_.get(), nameOf(key).c_str(), 0);
}

void DiskCache::work() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kWriterNice);
  shrink();
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Job job = std::move(queue_.front());
    queue_.pop_front();
    queuedBytes_ -= job.content.size();
    lock.unlock();
    writeNow(job);
    if (bytes_ > kMaxBytes) shrink();
    lock.lock();
  }
}

void DiskCache::writeNow(const Job& job) {
  struct statvfs room = {};
  if (fstatvfs(folder_.get(), &room) != 0 || uint64_t{room.f_bavail} * room.f_frsize < kMinFree) return;
  Header header;
  header.key = job.key;
  header.size = job.content.size();
  header.checksum = hashBytes(job.content.data(), job.content.size(), header.size);
  const std::string name = nameOf(job.key);
  const std::string unfinished = std::string(kUnfinished) + std::to_string(getpid()) + "-" + name;
  // A run that was killed may have left one of the same name.
  unlinkat(folder_.get(), unfinished.c_str(), 0);
  const FileDescriptor file(
      openat(folder_.get(), unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return;
  const bool isWhole =
      writeAll(file.get(), &header, sizeof header) && writeAll(file.get(), job.content.data(), job.content.size());
  if (!isWhole || renameat(folder_.get(), unfinished.c_str(), folder_.get(), name.c_str()) != 0)
    unlinkat(folder_.get(), unfinished.c_str(), 0);
  else
    bytes_ += sizeof header + job.content.size();
}

void DiskCache::shrink() {
  struct Entry {
    time_t used;
    uint64_t size;
    std::string name;
  };
  std::vector<Entry> entries;
  const std::unique_ptr<DIR, CloseFolder> folder(
      fdopendir(openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  const auto now = static_cast<time_t>(clockNanoseconds(CLOCK_REALTIME) / kNanosecondsPerSecond);
  bytes_ = 0;
  for (const dirent* item; folder && (item = readdir(folder.get()));) {
    struct stat status = {};
    const std::string name = item->d_name;
    if (fstatat(folder_.get(), item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || S_ISDIR(status.st_mode)) continue;
    if (name.starts_with(kUnfinished) && now > status.st_mtim.tv_sec + kMarkSeconds) {
      unlinkat(folder_.get(), item->d_name, 0);
      continue;
    }
    bytes_ += static_cast<uint64_t>(status.st_size);
    entries.push_back({status.st_mtim.tv_sec, static_cast<uint64_t>(status.st_size), name});
  }
  if (bytes_ <= kMaxBytes) return;
  std::sort(entries.begin(), entries.end(), [](auto& a, auto& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (bytes_ <= kMaxBytes / 4 * 3) return;
    if (unlinkat(folder_.get(), entry.name.c_str(), 0) == 0) bytes_ -= entry.size;
  }
}

uint64_t ownBuild() {
  struct Search {
    uint64_t hash = 0;
  } search;
  const auto look = [](dl_phdr_info* info, size_t, void* into) -> int {
    const auto place = reinterpret_cast<uintptr_t>(&ownBuild);
    bool isOurs = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
      const ElfW(Phdr)& header = info->dlpi_phdr[i];
      isOurs |= header.p_type == PT_LOAD && place - info->dlpi_addr - header.p_vaddr < header.p_memsz;
    }
    if (!isOurs) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
      const ElfW(Phdr)& header = info->dlpi_phdr[i];
      if (header.p_type != PT_NOTE) continue;
      const auto* notes = reinterpret_cast<const uint8_t*>(info->dlpi_addr + header.p_vaddr);
      for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= header.p_memsz;) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof note);
        const size_t content = at + sizeof note + ((note.n_namesz + 3) & ~3u);
        if (note.n_type == NT_GNU_BUILD_ID && content + note.n_descsz <= header.p_memsz)
          static_cast<Search*>(into)->hash = hashBytes(notes + content, note.n_descsz, note.n_descsz);
        at = content + ((note.n_descsz + 3) & ~3u);
      }
    }
    return 1;
  };
  dl_iterate_phdr(look, &search);
  return search.hash;
}

}  // namespace polytop
