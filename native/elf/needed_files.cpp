// SPDX-License-Identifier: Apache-2.0
#include "elf/needed_files.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "util/wire.h"

namespace polytop {
namespace {

constexpr uint64_t kMaxDynamicSegment = 64u << 10;
constexpr size_t kMaxLibraries = 1000, kMaxFolders = 1000;
constexpr size_t kMaxPath = 4096;

// Paths are bytes, but for the one that ends them.
bool isPath(const std::string& text) { return text.find('\0') == std::string::npos; }

const Segment* segmentOf(const ElfImage& image, uint32_t type) {
  const auto found = std::ranges::find(image.segments(), type, &Segment::type);
  return found == image.segments().end() ? nullptr : &*found;
}

}  // namespace

NeededFiles readNeededFiles(const ElfImage& image) {
  NeededFiles needed;
  if (const Segment* loader = segmentOf(image, PT_INTERP)) needed.interpreter = image.readString(loader->offset);
  const Segment* dynamic = segmentOf(image, PT_DYNAMIC);
  if (dynamic == nullptr) return needed;
  const std::vector<uint8_t> bytes = image.read(dynamic->offset, std::min(dynamic->fileSize, kMaxDynamicSegment));
  std::vector<Elf64_Dyn> entries(bytes.size() / sizeof(Elf64_Dyn));
  if (!entries.empty()) std::memcpy(entries.data(), bytes.data(), entries.size() * sizeof(Elf64_Dyn));
  entries.erase(std::ranges::find(entries, DT_NULL, &Elf64_Dyn::d_tag), entries.end());
  const auto strings = std::ranges::find(entries, DT_STRTAB, &Elf64_Dyn::d_tag);
  uint64_t start = 0;
  if (strings == entries.end() || !image.addressToOffset(strings->d_un.d_ptr, start)) return needed;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NEEDED && needed.libraries.size() < kMaxLibraries)
      needed.libraries.push_back(image.readString(start + entry.d_un.d_val));
    if (entry.d_tag != DT_RUNPATH && entry.d_tag != DT_RPATH) continue;
    const std::string folders = image.readString(start + entry.d_un.d_val);
    for (size_t first = 0, end = 0; first < folders.size() && needed.folders.size() < kMaxFolders; first = end + 1) {
      end = std::min(folders.find(':', first), folders.size());
      needed.folders.push_back(folders.substr(first, end - first));
    }
  }
  return needed;
}

std::vector<uint8_t> encodeNeeded(const NeededFiles& needed) {
  WireWriter writer;
  writer.putText(needed.interpreter);
  writer.putTexts(needed.libraries);
  writer.putTexts(needed.folders);
  return writer.take();
}

bool decodeNeeded(std::span<const uint8_t> bytes, NeededFiles& needed) {
  WireReader reader(bytes);
  NeededFiles read;
  read.interpreter = reader.getText(kMaxPath);
  read.libraries = reader.getTexts(kMaxLibraries, kMaxPath);
  read.folders = reader.getTexts(kMaxFolders, kMaxPath);
  const bool arePaths = isPath(read.interpreter) && std::ranges::all_of(read.libraries, isPath) &&
                        std::ranges::all_of(read.folders, isPath);
  if (!reader.isAtEnd() || !arePaths) return false;
  needed = std::move(read);
  return true;
}

}  // namespace polytop
