// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "util/file_descriptor.h"

namespace polytop {

/**
 * Opens a regular file below `root` ("" is the machine's own root) for reading.
 *
 * Links are followed, as a distribution's debug files are links, but stay in `root`: the kernel resolves
 * them as if the root were "/" (openat2 with RESOLVE_IN_ROOT, Linux 5.6). Never waits and never touches
 * a device: what the path names is looked at before it is opened. Invalid where it is anything else.
 */
FileDescriptor openUnderRoot(const std::string& root, const std::string& path);

/**
 * Opens a regular file in the folder of an open one, whose path is looked at below `root`. The name is no path, links
 * are not followed and mounts not entered. Invalid where it is anything else; what is found there has to prove that
 * it belongs to the file, and it has to be root's or of the user of the open one.
 */
FileDescriptor openBeside(int fd, const std::string& root, const std::string& name);

/// An open file and the root below which it was found, "" for the machine's own.
struct NamedFile {
  FileDescriptor file;
  std::string root;
};

/**
 * The files that may be the separate debug file of an open one: by its build-id in hex,
 * /usr/lib/debug/.build-id/xx/yyyy.debug, else by the name of a link beside the file, in .debug beside it, or in
 * /usr/lib/debug/<its folder>. All of them below the machine's own root first, then below `root` if the file lies there
 * too: who has a root of his own is not to name the programs of others. Each is root's or of the file's user; whether
 * it belongs to the file, what is in it has to say.
 */
std::vector<NamedFile> openDebugCandidates(int fd, const std::string& root, const std::string& buildId,
                                           const std::string& linkName);

/// The file of a build-id in hex below a root; invalid if there is none.
FileDescriptor openByBuildId(const std::string& root, const std::string& buildId);

}  // namespace polytop
