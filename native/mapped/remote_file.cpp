// SPDX-License-Identifier: Apache-2.0
#include "mapped/remote_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <thread>

#include "turns/first_turn.h"
#include "util/file_descriptor.h"
#include "util/process.h"

namespace polytop {

namespace {

/// On disk, not in memory as /tmp may be (file-hierarchy(7)).
constexpr const char* kCopyFolder = "/var/tmp";
constexpr off_t kMaxBytes = 256 << 20;
/// What all copies may take on the disk.
constexpr off_t kMaxBytesOfAll = 512 << 20;
constexpr size_t kBlock = 1 << 20;
constexpr std::chrono::seconds kPatience{3};
/// For one file, however slowly it comes.
constexpr std::chrono::seconds kLongest{30};
constexpr std::chrono::seconds kSilence{60};
constexpr std::chrono::milliseconds kLook{50};
/// No process of root's.
constexpr uid_t kNobody = 65534;

struct FileSystem {
  uint32_t magic;
  std::string_view name;
};

/// include/uapi/linux/magic.h, and the sources of the file systems that are not in it.
constexpr std::array kRemote = {
    FileSystem{0x65735546, "fuse"},   FileSystem{0x6969, "nfs"},      FileSystem{0xff534d42, "cifs"},
    FileSystem{0xfe534d42, "smb3"},   FileSystem{0x01021997, "9p"},   FileSystem{0x00c36400, "ceph"},
    FileSystem{0x5346414f, "afs"},    FileSystem{0x73757245, "coda"}, FileSystem{0x47504653, "gpfs"},
    FileSystem{0x0bd00bd0, "lustre"}, FileSystem{0x6b414653, "afs"},
};

/// What the child says at its end, the path or the error behind it.
enum : char { kCopied = 'c', kGone = 'g', kFailed = 'f' };

void say(int channel, char what, const std::string& text) {
  const std::string message = what + text.substr(0, PIPE_BUF - 1);
  [[maybe_unused]] const ssize_t written = write(channel, message.data(), message.size());
}

/// Holes stay holes, whether the file system tells of them or only shows zeros.
std::string copyFile(int from, int to, off_t most) {
  std::vector<char> block(kBlock);
  const std::vector<char> zeros(kBlock);
  off_t at = 0, written = 0;
  for (;;) {
    const off_t data = lseek(from, at, SEEK_DATA);
    if (data > at) at = data;
    if (data < 0 && errno == ENXIO) break;
    const ssize_t got = pread(from, block.data(), block.size(), at);
    if (got == 0) break;
    if (got < 0) return strerror(errno);
    if (memcmp(block.data(), zeros.data(), static_cast<size_t>(got)) != 0) {
      if (pwrite(to, block.data(), static_cast<size_t>(got), at) != got) return strerror(errno);
      written += got;
    }
    at += got;
    if (at > kMaxBytes) return "too large to be copied from a remote file system";
    if (written > most) return "too much is copied from remote file systems already";
  }
  struct stat status = {};
  // A hole at the end.
  if (fstat(from, &status) == 0 && status.st_size <= kMaxBytes) at = std::max(at, status.st_size);
  return ftruncate(to, at) == 0 ? "" : strerror(errno);
}

/// The child. It keeps nothing of ours open: a program of the kernel lives as long as its last descriptor.
[[noreturn]] void serve(const file_record& record, int to, int channel, off_t most) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // This turn has an end; the one that it was started with has none.
  comeFirst();
  const auto [low, high] = std::minmax(to, channel);
  if (low > 0) close_range(0, static_cast<unsigned>(low) - 1, 0);
  if (high > low + 1) close_range(static_cast<unsigned>(low) + 1, static_cast<unsigned>(high) - 1, 0);
  close_range(static_cast<unsigned>(high) + 1, UINT_MAX, 0);
  const MappedFile file = openMappedFile(record);
  const std::string why = file.file.valid() ? copyFile(file.file.get(), to, most) : file.why;
  if (file.gone)
    say(channel, kGone, "");
  else
    say(channel, why.empty() ? kCopied : kFailed, why.empty() ? file.path : why);
  _exit(0);
}

pid_t forkFirst() {
  const StartsFirst startsFirst;
  return fork();
}

/// A nameless file, in memory where there is no disk to write to. It belongs to the user whose process maps what is
/// copied: what such a file system says of owners is anybody's word, and root's files have rights.
FileDescriptor nameless(uint32_t tgid) {
  const uint32_t user = userOfProcess(static_cast<pid_t>(tgid));
  // This changes the thread alone. Without the right to do it, the file belongs to who runs polytop.
  const int own = setfsuid(user == kUnknownUser ? kNobody : user);
  FileDescriptor copy(open(kCopyFolder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!copy.valid()) copy = FileDescriptor(memfd_create("polytop-copy", MFD_CLOEXEC));
  setfsuid(static_cast<uid_t>(own));
  return copy;
}

/// How much of the disk a copy takes.
off_t bytesOf(int fd) {
  struct stat status = {};
  return fstat(fd, &status) == 0 ? status.st_blocks * 512 : 0;
}

/// What the child said; empty if it did not get on for a while.
std::string listen(int channel, int copy, const std::atomic<bool>& closing) {
  auto latest = std::chrono::steady_clock::now() + kPatience;
  const auto end = std::chrono::steady_clock::now() + kLongest;
  off_t size = 0;
  while (!closing && std::chrono::steady_clock::now() < std::min(latest, end)) {
    pollfd ready = {channel, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(kLook.count())) > 0) {
      std::array<char, PIPE_BUF> message;
      const ssize_t got = read(channel, message.data(), message.size());
      return got > 0 ? std::string(message.data(), static_cast<size_t>(got)) : "";
    }
    const off_t now = bytesOf(copy);
    if (now != size) latest = std::chrono::steady_clock::now() + kPatience;
    size = now;
  }
  return "";
}

/// Ends the child. One that even SIGKILL does not reach at once is left to the init process.
void end(pid_t child) {
  kill(child, SIGKILL);
  for (int i = 0; i < 20 && waitpid(child, nullptr, WNOHANG) == 0; i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

}  // namespace

std::string_view remoteFileSystem(uint32_t magic) {
  const auto found = std::find_if(kRemote.begin(), kRemote.end(), [=](const auto& it) { return it.magic == magic; });
  return found == kRemote.end() ? std::string_view() : found->name;
}

bool isRemoteType(std::string_view type) {
  type = type.substr(0, type.find('.'));
  return type == "nfs4" || type == "virtiofs" || type == "fuseblk" ||
         std::any_of(kRemote.begin(), kRemote.end(), [=](const auto& it) { return it.name == type; });
}

void RemoteFiles::start(Opened opened) {
  opened_ = std::move(opened);
  thread_ = startFirst([this] { work(); });
}

void RemoteFiles::request(const file_record& record) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(record);
  }
  wake_.notifyAll();
}

void RemoteFiles::close() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notifyAll();
  if (thread_.joinable()) thread_.join();
}

void RemoteFiles::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    comeFirst();
    wake_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (closing_) return;
    const file_record record = queue_.front();
    queue_.pop_front();
    lock.unlock();
    opened_(record, copy(record));
    lock.lock();
  }
}

MappedFile RemoteFiles::copy(const file_record& record) {
  MappedFile file;
  file.path = recordPath(record);
  const std::string silent = std::string(remoteFileSystem(record.file_system)) + ": the file system does not answer";
  const auto known = silentUntil_.find(record.key.device);
  if (known != silentUntil_.end() && Clock::now() < known->second) {
    file.why = silent;
    return file;
  }
  off_t left = kMaxBytesOfAll;
  std::erase_if(copies_, [](const auto& copy) { return copy.expired(); });
  for (const auto& copy : copies_) {
    if (const auto bytes = copy.lock()) left -= *bytes;
  }
  FileDescriptor into = nameless(record.tgid);
  std::array<int, 2> channel;
  if (!into.valid() || pipe2(channel.data(), O_CLOEXEC) != 0) {
    file.why = std::string("no place for a copy: ") + strerror(errno);
    return file;
  }
  const FileDescriptor hear(channel[0]);
  FileDescriptor speak(channel[1]);
  const pid_t child = forkFirst();
  if (child == 0) serve(record, into.get(), speak.get(), left);
  speak = {};
  const std::string said = child > 0 ? listen(hear.get(), into.get(), closing_) : "";
  if (child > 0) end(child);
  if (said.empty()) {
    silentUntil_[record.key.device] = Clock::now() + kSilence;
    file.why = silent;
  } else if (said.front() == kCopied) {
    file.path = said.substr(1);
    file.file = std::move(into);
    file.copied = std::make_shared<const off_t>(bytesOf(file.file.get()));
    copies_.push_back(file.copied);
  } else {
    file.gone = said.front() == kGone;
    file.why = said.substr(1);
  }
  return file;
}

}  // namespace polytop
