// SPDX-License-Identifier: Apache-2.0
#include "elf/debug_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <lzma.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace polytop {
namespace {

// Checking a CRC reads the whole file: what is larger than this is not worth the wait.
constexpr off_t kMaxCheckedFile = 512L << 20;
// Steps of a budget that a byte of it takes.
constexpr uint64_t kBytesPerStep = 4;
constexpr size_t kCrcBlock = 256u << 10;
constexpr size_t kMaxDebugLink = 4096;
constexpr std::string_view kDebugFolder = "/usr/lib/debug";

struct DebugLink {
  std::string name;
  uint32_t crc = 0;
};

/// .gnu_debuglink: a file name, zeros up to a multiple of four, a CRC-32 (the polynomial of zlib and xz).
std::optional<DebugLink> readDebugLink(const ElfImage& image) {
  const Section* section = image.section(".gnu_debuglink");
  if (section == nullptr || section->size > kMaxDebugLink) return std::nullopt;
  const std::vector<uint8_t> bytes = image.content(*section);
  const void* end = bytes.empty() ? nullptr : std::memchr(bytes.data(), 0, bytes.size());
  if (end == nullptr) return std::nullopt;
  const size_t length = static_cast<size_t>(static_cast<const uint8_t*>(end) - bytes.data());
  const size_t crcAt = (length + 4) & ~size_t{3};
  DebugLink link;
  if (crcAt + sizeof link.crc > bytes.size()) return std::nullopt;
  link.name.assign(reinterpret_cast<const char*>(bytes.data()), length);
  std::memcpy(&link.crc, bytes.data() + crcAt, sizeof link.crc);
  const bool isPath = link.name.find('/') != std::string::npos;
  if (link.name.empty() || link.name == "." || link.name == ".." || isPath) return std::nullopt;
  return link;
}

/// What it takes is taken from the budget of the file that the debug file is for: a name may lead to several.
bool hasCrc(int fd, uint32_t expected, Budget& budget) {
  struct stat status;
  if (fstat(fd, &status) != 0 || status.st_size > kMaxCheckedFile) return false;
  std::vector<uint8_t> block(kCrcBlock);
  uint32_t crc = 0;
  off_t at = 0;
  while (at <= kMaxCheckedFile) {  // the file may grow while it is read
    const ssize_t got = pread(fd, block.data(), block.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) return crc == expected;
    crc = lzma_crc32(block.data(), static_cast<size_t>(got), crc);
    at += got;
    budget.takeSteps(static_cast<uint64_t>(got) / kBytesPerStep);
  }
  return false;
}

std::string readLink(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<size_t>(length)) : std::string();
}

std::string descriptorPath(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

/// Whether a file lies below a root other than our own: its path does, and no other file system was mounted there.
bool isBelow(int fd, const std::string& root) {
  const FileDescriptor folder(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat ofFile = {}, ofRoot = {};
  if (fstat(fd, &ofFile) != 0 || fstat(folder.get(), &ofRoot) != 0 || ofFile.st_dev != ofRoot.st_dev) return false;
  const std::string below = readLink(descriptorPath(folder.get()));
  return below == "/" || readLink(descriptorPath(fd)).starts_with(below + "/");
}

/// Whether what was found beside a program, or for it, may speak for it: it is root's, or of the program's own user.
bool maySpeakFor(const FileDescriptor& found, int program) {
  struct stat status = {}, ofProgram = {};
  if (!found.valid() || fstat(found.get(), &status) != 0) return false;
  return status.st_uid == 0 || (fstat(program, &ofProgram) == 0 && status.st_uid == ofProgram.st_uid);
}

/// The folder of an open file as seen from `root`; empty if unknown. A wrong one does no harm: what is found
/// there has to prove that it belongs to the file.
std::string folderOf(int fd, const std::string& root) {
  if (fd < 0) return {};
  std::string path = readLink(descriptorPath(fd));
  if (!path.starts_with('/')) return {};
  const FileDescriptor rootFolder(open(root.empty() ? "/" : root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string rootPath = rootFolder.valid() ? readLink(descriptorPath(rootFolder.get())) : "";
  if (rootPath.size() > 1 && path.starts_with(rootPath + "/")) path.erase(0, rootPath.size());
  return path.substr(0, path.rfind('/'));
}

/// O_PATH only names the file: a FIFO does not wait for its writer, a device does not notice.
FileDescriptor nameUnderRoot(const std::string& root, const std::string& path, uint64_t flags) {
  const FileDescriptor folder(open(root.empty() ? "/" : root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return {};
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | flags;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  // A container may have mounted something that never answers.
  if (!root.empty()) how.resolve |= RESOLVE_NO_XDEV;
  return FileDescriptor(static_cast<int>(syscall(SYS_openat2, folder.get(), path.c_str(), &how, sizeof how)));
}

/// Opens what is named for reading if it is a regular file.
FileDescriptor openNamed(const FileDescriptor& named) {
  struct stat status;
  if (!named.valid() || fstat(named.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return FileDescriptor(open(descriptorPath(named.get()).c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

/// Opens a candidate and keeps it if it belongs to the image of `program`.
DebugFile openCandidate(int program, const std::string& root, const std::string& path, const std::string& buildId,
                        std::optional<uint32_t> crc, Budget& budget) {
  DebugFile found;
  found.file = openUnderRoot(root, path);
  found.root = root;
  if (!maySpeakFor(found.file, program)) return {};
  std::string error;
  found.image = ElfImage::open(found.file.get(), error);
  if (!found.image) return {};
  const std::string foundId = found.image->buildId();
  const bool belongs =
      buildId.empty() || foundId.empty() ? crc && hasCrc(found.file.get(), *crc, budget) : foundId == buildId;
  return belongs ? std::move(found) : DebugFile{};
}

}  // namespace

FileDescriptor openUnderRoot(const std::string& root, const std::string& path) {
  return openNamed(nameUnderRoot(root, path, 0));
}

FileDescriptor openBeside(int fd, const std::string& root, const std::string& name) {
  const std::string path = folderOf(fd, root);
  if (path.empty() || name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) return {};
  const FileDescriptor folder = nameUnderRoot(root, path, O_DIRECTORY);
  if (!folder.valid()) return {};
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  FileDescriptor found =
      openNamed(FileDescriptor(static_cast<int>(syscall(SYS_openat2, folder.get(), name.c_str(), &how, sizeof how))));
  return maySpeakFor(found, fd) ? std::move(found) : FileDescriptor();
}

namespace {

/// findDebugFile() in one root.
DebugFile findBelow(const std::string& root, int fd, const ElfImage& image) {
  const std::string buildId = image.buildId();
  const std::string debugFolder(kDebugFolder);
  if (buildId.size() > 2) {
    const std::string path = debugFolder + "/.build-id/" + buildId.substr(0, 2) + "/" + buildId.substr(2) + ".debug";
    DebugFile found = openCandidate(fd, root, path, buildId, std::nullopt, image.budget());
    if (found.image) return found;
  }
  const std::optional<DebugLink> link = readDebugLink(image);
  if (!link) return {};
  const std::string folder = folderOf(fd, root);
  for (const std::string& candidate : {folder, folder + "/.debug", debugFolder + folder}) {
    DebugFile found = openCandidate(fd, root, candidate + "/" + link->name, buildId, link->crc, image.budget());
    if (found.image) return found;
  }
  return {};
}

}  // namespace

DebugFile findDebugFile(int fd, const ElfImage& image, const std::string& root) {
  DebugFile ours = findBelow("", fd, image);
  return ours.image || root.empty() || !isBelow(fd, root) ? std::move(ours) : findBelow(root, fd, image);
}

}  // namespace polytop
