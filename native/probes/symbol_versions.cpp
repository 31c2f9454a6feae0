// SPDX-License-Identifier: Apache-2.0
#include "probes/symbol_versions.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace polytop {
namespace {

constexpr uint64_t kMaxNumbers = 8u << 20;
constexpr uint64_t kMaxDefinitions = 1u << 20;
constexpr size_t kMaxVersionName = 256;
constexpr uint16_t kOld = 0x8000;  // VERSYM_HIDDEN

const Section* sectionOf(const ElfImage& image, uint32_t type) {
  const auto found = std::ranges::find(image.sections(), type, &Section::type);
  return found == image.sections().end() ? nullptr : &*found;
}

template <typename Record>
bool readAt(const std::vector<uint8_t>& bytes, uint64_t at, Record& record) {
  if (at > bytes.size() || bytes.size() - at < sizeof record) return false;
  std::memcpy(&record, bytes.data() + at, sizeof record);
  return true;
}

}  // namespace

SymbolVersions::SymbolVersions(const ElfImage& image) {
  const Section* numbers = sectionOf(image, SHT_GNU_versym);
  const Section* definitions = sectionOf(image, SHT_GNU_verdef);
  if (numbers == nullptr || definitions == nullptr || definitions->link >= image.sections().size()) return;
  const Section& strings = image.sections()[definitions->link];
  const std::vector<uint8_t> bytes = image.read(definitions->offset, std::min(definitions->size, kMaxDefinitions));
  Elf64_Verdef definition = {};
  for (uint64_t at = 0; readAt(bytes, at, definition); at += definition.vd_next) {
    Elf64_Verdaux name = {};
    image.budget().takeSteps(1);
    // The base is the name of the file itself.
    if ((definition.vd_flags & VER_FLG_BASE) == 0 && readAt(bytes, at + definition.vd_aux, name) &&
        name.vda_name < strings.size)
      names_[definition.vd_ndx] = image.readString(strings.offset + name.vda_name, kMaxVersionName);
    if (definition.vd_next == 0) break;
  }
  numbers_ = image.read(numbers->offset, std::min(numbers->size, kMaxNumbers));
}

void SymbolVersions::describe(size_t place, std::string& version, bool& isOld) const {
  uint16_t number = 0;
  if (!readAt(numbers_, place * sizeof number, number)) return;
  const auto name = names_.find(static_cast<uint16_t>(number & ~kOld));
  if (name == names_.end()) return;
  version = name->second;
  isOld = (number & kOld) != 0;
}

}  // namespace polytop
