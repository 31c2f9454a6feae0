// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include "bpf/abi.h"
#include "events/probe_places.h"
#include "util/failure.h"

namespace polytop {
namespace {

/// A file that this process has loaded.
struct Loaded {
  struct stat wanted = {};
  dl_phdr_info info = {};
  bool isFound = false;

  explicit Loaded(const std::string& path) {
    if (stat(path.c_str(), &wanted) == 0) dl_iterate_phdr(look, this);
  }

  static int look(dl_phdr_info* info, size_t, void* data) {
    auto* loaded = static_cast<Loaded*>(data);
    struct stat status = {};
    if (!info->dlpi_name || stat(info->dlpi_name, &status) != 0) return 0;
    if (status.st_dev != loaded->wanted.st_dev || status.st_ino != loaded->wanted.st_ino) return 0;
    loaded->info = *info;
    loaded->isFound = true;
    return 1;
  }

  /// Where an address of this process is in the file.
  int64_t offsetOf(uint64_t address) const {
    for (size_t i = 0; i < info.dlpi_phnum; i++) {
      const ElfW(Phdr)& part = info.dlpi_phdr[i];
      const uint64_t start = info.dlpi_addr + part.p_vaddr;
      if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0 && address >= start && address - start < part.p_filesz)
        return static_cast<int64_t>(part.p_offset + (address - start));
    }
    return CHOICE_ELSEWHERE;
  }
};

}  // namespace

std::vector<int64_t> chosenFunctions(const std::string& path, const std::vector<ProbedFunction>& choosers) {
  std::vector<int64_t> chosen(choosers.size(), CHOICE_NOT_LOADED);
  const Loaded loaded(path);
  void* library = loaded.isFound ? dlopen(loaded.info.dlpi_name, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  if (!library) return chosen;
  for (size_t i = 0; i < choosers.size(); i++) {
    const ProbedFunction& chooser = choosers[i];
    const void* function = chooser.version.empty() ? dlsym(library, chooser.name.c_str())
                                                   : dlvsym(library, chooser.name.c_str(), chooser.version.c_str());
    if (function) chosen[i] = loaded.offsetOf(reinterpret_cast<uint64_t>(function));
  }
  dlclose(library);
  return chosen;
}

}  // namespace polytop
