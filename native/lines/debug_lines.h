// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elfutils/libdw.h>
#include <libelf.h>

#include <memory>
#include <string>
#include <vector>

#include "elf/elf_image.h"
#include "util/file_descriptor.h"

namespace polytop {

/// A file that libdw reads. It closes in the order that libdw asks for.
struct DwarfFile {
  std::vector<uint8_t> plain;  ///< what it reads where the file is compressed in another way than it knows
  Elf* elf = nullptr;
  Dwarf* dwarf = nullptr;

  DwarfFile() = default;
  DwarfFile(const DwarfFile&) = delete;
  DwarfFile& operator=(const DwarfFile&) = delete;
  ~DwarfFile();

  /// `image`: of the file behind `fd`. Returns why it cannot be read, or nothing.
  std::string open(int fd, const ElfImage& image);
};

/// Open files that hold the lines of a program, as its asker found them; -1: there is none.
struct LineFiles {
  int program = -1;
  int debugFile = -1;  ///< the separate debug file of a program that has no lines itself
  int other = -1;      ///< what dwz moved out of several debug files into one
};

/**
 * The line table of a file, in itself or in its separate debug file, opened by libdw (elfutils).
 *
 * libdw reads with read(), not through a mapping, and opens no file by itself. Debug information of
 * more than 256 MB is not read.
 */
struct DebugLines {
  FileDescriptor own;        ///< of the file itself
  FileDescriptor file;       ///< what `dwarf` reads from
  FileDescriptor otherFile;  ///< what `other` reads from
  DwarfFile other;           ///< what dwz moved out of several debug files into one; ends after `dwarf`
  DwarfFile dwarf;
  std::unique_ptr<ElfImage> image;  ///< of the file itself; the addresses of the table are those of its headers
  /// Entries can be read: none of them refers to a file that is not there.
  bool hasEntries = true;
  /// Entries that anyEntryOf() still looks at.
  size_t entriesLeft = 0;

  /// Opens the files, by descriptors of its own. Returns why there is no line table, or nothing where there is one.
  std::string open(const LineFiles& files);

  /// Whether a test holds for one of the entries just below a scope, as far as the depth and `entriesLeft` allow.
  template <typename Test>
  bool anyEntryOf(Dwarf_Die& scope, int depth, Test test) {
    constexpr int kMaxNesting = 64;
    Dwarf_Die entry;
    if (depth > kMaxNesting || dwarf_child(&scope, &entry) != 0) return false;
    do {
      if (entriesLeft == 0) return false;
      entriesLeft--;
      if (test(entry)) return true;
    } while (dwarf_siblingof(&entry, &entry) == 0);
    return false;
  }
  /// The function with code at an address, by the entries below a scope.
  bool functionIn(Dwarf_Die& scope, Dwarf_Addr address, Dwarf_Die& function, int depth);

 private:
  void openOther();
};

}  // namespace polytop
