// SPDX-License-Identifier: Apache-2.0
#include "elf/debug_links.h"

#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "util/wire.h"

namespace polytop {
namespace {

// Checking a CRC reads the whole file: what is larger than this is not worth the wait.
constexpr off_t kMaxCheckedFile = 512L << 20;
// Steps of a budget that a byte of it takes.
constexpr uint64_t kBytesPerStep = 4;
constexpr size_t kCrcBlock = 256u << 10;
constexpr size_t kMaxDebugLink = 4096;
constexpr size_t kMaxFileName = 255, kMaxId = 128;

struct DebugLink {
  std::string name;
  uint32_t crc = 0;
};

/// A name of a file in a folder, and no path.
bool isFileName(const std::string& name) {
  return !name.empty() && name.size() <= kMaxFileName && name != "." && name != ".." &&
         name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

bool isId(const std::string& id) {
  return id.size() <= kMaxId && id.find_first_not_of("0123456789abcdef") == std::string::npos;
}

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
  if (!isFileName(link.name)) return std::nullopt;
  return link;
}

/// .gnu_debugaltlink: a path, and behind its end the build-id of the file (dwz(1)).
std::string readOtherId(const ElfImage& image) {
  const Section* section = image.section(".gnu_debugaltlink");
  if (section == nullptr || section->size > kMaxDebugLink) return {};
  const std::vector<uint8_t> bytes = image.content(*section);
  const auto end = std::find(bytes.begin(), bytes.end(), 0);
  if (end == bytes.end()) return {};
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string id;
  for (auto byte = end + 1; byte != bytes.end(); ++byte) {
    id += kDigits[*byte >> 4];
    id += kDigits[*byte & 15];
  }
  return isId(id) ? id : std::string();
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

}  // namespace

DebugLinks readDebugLinks(const ElfImage& image, std::span<const DebugCandidate> candidates) {
  DebugLinks links;
  links.buildId = image.buildId();
  const std::optional<DebugLink> link = readDebugLink(image);
  if (link) links.linkName = link->name;
  const auto belongs = [&](const DebugCandidate& candidate) {
    if (!candidate.image) return false;
    const std::string id = candidate.image->buildId();
    if (!links.buildId.empty() && !id.empty()) return id == links.buildId;
    return link && hasCrc(candidate.fd, link->crc, image.budget());
  };
  const auto found = std::find_if(candidates.begin(), candidates.end(), belongs);
  if (found != candidates.end()) links.belongs = static_cast<uint32_t>(found - candidates.begin()) + 1;
  const ElfImage& effective = found != candidates.end() ? *found->image : image;
  links.hasLines = effective.section(".debug_line") != nullptr;
  links.otherId = readOtherId(effective);
  return links;
}

std::vector<uint8_t> encodeLinks(const DebugLinks& links) {
  WireWriter writer;
  writer.putText(links.buildId);
  writer.putText(links.linkName);
  writer.put(links.belongs);
  writer.put(static_cast<uint8_t>(links.hasLines));
  writer.putText(links.otherId);
  return writer.take();
}

bool decodeLinks(std::span<const uint8_t> bytes, size_t candidates, DebugLinks& links) {
  WireReader reader(bytes);
  DebugLinks read;
  read.buildId = reader.getText(kMaxId);
  read.linkName = reader.getText(kMaxFileName);
  read.belongs = reader.get<uint32_t>();
  read.hasLines = reader.get<uint8_t>() != 0;
  read.otherId = reader.getText(kMaxId);
  const bool isSound = reader.isAtEnd() && isId(read.buildId) && isId(read.otherId) && read.belongs <= candidates &&
                       (read.linkName.empty() || isFileName(read.linkName));
  if (isSound) links = std::move(read);
  return isSound;
}

}  // namespace polytop
