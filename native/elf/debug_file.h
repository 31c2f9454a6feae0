// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "elf/elf_image.h"
#include "util/file_descriptor.h"

namespace polytop {

/// A separate debug file and its open descriptor, which the image reads from.
struct DebugFile {
  FileDescriptor file;
  std::unique_ptr<ElfImage> image;  ///< null: there is none
  std::string root;                 ///< below which it was found, "" for the machine's own
};

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

/**
 * The separate debug file of an image: by its build-id, /usr/lib/debug/.build-id/xx/yyyy.debug, else by the
 * name in .gnu_debuglink beside the file, in .debug beside it, or in /usr/lib/debug/<its folder>. All of
 * them below the machine's own root first, then below `root` if the program lies there too: who has a root of his own
 * is not to name the programs of others. The file has to be root's or of the program's user. The build-ids have to
 * agree; a file without one must have the CRC that the link says. Facts: "Debugging Information in Separate Files" of
 * the GDB manual.
 *
 * `fd`: the image's own descriptor, whose path says which folder is meant; -1 if there is none.
 */
DebugFile findDebugFile(int fd, const ElfImage& image, const std::string& root);

}  // namespace polytop
