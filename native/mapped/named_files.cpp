// SPDX-License-Identifier: Apache-2.0
#include "mapped/named_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <string_view>
#include <utility>

namespace polytop {
namespace {

constexpr std::string_view kDebugFolder = "/usr/lib/debug";

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

/// Adds a candidate that may speak for the file.
void addCandidate(int fd, const std::string& root, FileDescriptor file, std::vector<NamedFile>& into) {
  if (maySpeakFor(file, fd)) into.push_back({std::move(file), root});
}

void addCandidatesBelow(const std::string& root, int fd, const std::string& buildId, const std::string& linkName,
                        std::vector<NamedFile>& into) {
  addCandidate(fd, root, openByBuildId(root, buildId), into);
  if (linkName.empty()) return;
  const std::string folder = folderOf(fd, root);
  for (const std::string& candidate : {folder, folder + "/.debug", std::string(kDebugFolder) + folder})
    addCandidate(fd, root, openUnderRoot(root, candidate + "/" + linkName), into);
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

FileDescriptor openByBuildId(const std::string& root, const std::string& buildId) {
  if (buildId.size() <= 2) return {};
  return openUnderRoot(
      root, std::string(kDebugFolder) + "/.build-id/" + buildId.substr(0, 2) + "/" + buildId.substr(2) + ".debug");
}

std::vector<NamedFile> openDebugCandidates(int fd, const std::string& root, const std::string& buildId,
                                           const std::string& linkName) {
  std::vector<NamedFile> found;
  addCandidatesBelow("", fd, buildId, linkName, found);
  if (!root.empty() && isBelow(fd, root)) addCandidatesBelow(root, fd, buildId, linkName, found);
  return found;
}

}  // namespace polytop
