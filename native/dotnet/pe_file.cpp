// SPDX-License-Identifier: Apache-2.0
#include "dotnet/pe_file.h"

#include <algorithm>
#include <cstring>

namespace polytop {

namespace {

constexpr uint64_t kHeaderBytes = 4096;
constexpr uint32_t kMaxSections = 96;
constexpr char kHeaderExport[] = "RTR_HEADER";
constexpr uint32_t kCorHeader = 14, kCorReadyToRun = 64;  // data directory; offset in the COR header
/// What a read costs in steps of a budget.
constexpr uint64_t kReadSteps = 64;

}  // namespace

PeFile::PeFile(int fd, uint64_t base, uint64_t size, Budget& budget)
    : fd_(fd), base_(base), size_(size), budget_(budget), head_(read(0, std::min(size, kHeaderBytes))) {
  const uint64_t header = value<uint32_t>(60);
  if (value<uint16_t>(0) != 0x5a4d || value<uint32_t>(header) != 0x4550) return;
  const uint32_t count = std::min<uint32_t>(value<uint16_t>(header + 6), kMaxSections);
  const uint64_t optional = header + 24;
  const uint64_t table = optional + value<uint16_t>(header + 20);
  const uint64_t directories = optional + (value<uint16_t>(optional) == 0x20b ? 112 : 96);
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t at = table + 40 * uint64_t{i};
    sections_.push_back({value<uint32_t>(at + 12), value<uint32_t>(at + 20), value<uint32_t>(at + 16)});
  }
  uint64_t cor = 0;
  isAssembly_ = toOffset(value<uint32_t>(directories + 8 * kCorHeader), cor) && value<uint32_t>(cor) == 72;
  readyToRun_ = isAssembly_ ? value<uint32_t>(cor + kCorReadyToRun) : exportedHeader(value<uint32_t>(directories));
  isAssembly_ = isAssembly_ || readyToRun_ != 0;
}

std::vector<uint8_t> PeFile::read(uint64_t offset, uint64_t size) const {
  if (offset >= size_) return {};
  const uint64_t count = std::min(size, size_ - offset);
  budget_.takeSteps(kReadSteps);
  budget_.takeBytes(count);
  return readBytes(fd_, base_ + offset, count);
}

bool PeFile::toOffset(uint32_t rva, uint64_t& offset) const {
  budget_.takeSteps(sections_.size());
  for (const Section& section : sections_) {
    if (rva < section.rva || rva - section.rva >= section.size) continue;
    offset = uint64_t{section.raw} + (rva - section.rva);
    return offset < size_;
  }
  return false;
}

uint32_t PeFile::valueAtRva(uint64_t rva) const {
  uint64_t offset = 0;
  return rva <= UINT32_MAX && toOffset(static_cast<uint32_t>(rva), offset) ? value<uint32_t>(offset) : 0;
}

uint32_t PeFile::exportedHeader(uint32_t directory) const {
  uint64_t exports = 0, name = 0;
  if (!toOffset(directory, exports)) return 0;
  // Export directory of the PE format: addresses at 28, names at 32, ordinals at 36.
  if (!toOffset(valueAtRva(value<uint32_t>(exports + 32)), name)) return 0;
  const std::vector<uint8_t> text = read(name, sizeof kHeaderExport);
  if (text.size() < sizeof kHeaderExport || memcmp(text.data(), kHeaderExport, text.size()) != 0) return 0;
  const uint32_t ordinal = valueAtRva(value<uint32_t>(exports + 36)) & 0xffff;
  return valueAtRva(uint64_t{value<uint32_t>(exports + 28)} + 4 * uint64_t{ordinal});
}

}  // namespace polytop
