// SPDX-License-Identifier: Apache-2.0
#include "aot/aot_names.h"

#include <algorithm>
#include <string>

#include "aot/aot_metadata.h"
#include "elf/pointers.h"
#include "util/bytes.h"

namespace polytop {
namespace {

/// The header of a program (src/coreclr/inc/readytorun.h): "RTR", version, flags, how many sections, the size of what
/// describes one.
constexpr uint32_t kMagic = 0x00525452;
constexpr uint64_t kHeaderBytes = 16;
constexpr uint64_t kMajor = 4, kCount = 12, kEntrySize = 14;
constexpr uint32_t kMostSections = 256;
/// How a version describes a section: its number, and its first and last address behind flags (.NET 10), or its bytes
/// and its first address (.NET 11). What the numbers of records mean may change from one to another.
struct Form {
  uint16_t major;
  uint8_t entrySize;
  bool hasLength;
};
constexpr Form kForms[] = {{16, 24, false}, {26, 16, true}};
/// Numbers of sections (ReflectionMapBlob, from 300 on).
constexpr uint32_t kMetadata = 313, kMethods = 327;
constexpr uint64_t kMostBytes = 64 << 20;
/// What an entry changes against the one before it (StackTraceDataCommand).
enum Command : uint8_t { kOwner = 1, kName = 2, kSignature = 4, kGeneric = 8, kHidden = 16, kAll = 31 };
constexpr uint64_t kStepsOfEntry = 16;

struct Blob {
  uint64_t address = 0;
  std::vector<uint8_t> bytes;
};

/// Reads what the program's header leads to.
class AotFile {
 public:
  explicit AotFile(const ElfImage& image) : image_(image), code_(image.section("__managedcode")) {}

  AotNames read() {
    const Section* modules = image_.section("__modules");
    if (!code_ || !modules) return {};
    const Pointers pointers(image_);
    const uint64_t header = pointers.at(modules->address);
    const std::vector<uint8_t> head = bytesAt(header, kHeaderBytes);
    if (head.size() != kHeaderBytes || valueAt<uint32_t>(head, 0) != kMagic) return {};
    const auto form = std::find_if(std::begin(kForms), std::end(kForms), [&](const Form& it) {
      return it.major == valueAt<uint16_t>(head, kMajor) && it.entrySize == head[kEntrySize];
    });
    if (form == std::end(kForms)) return {};
    const uint32_t count = std::min<uint32_t>(valueAt<uint16_t>(head, kCount), kMostSections);
    const uint64_t first = header + kHeaderBytes;
    const std::vector<uint8_t> entries = bytesAt(first, uint64_t{count} * form->entrySize);
    Blob metadata, methods;
    for (uint64_t at = 0; at + form->entrySize <= entries.size(); at += form->entrySize) {
      const auto number = valueAt<uint32_t>(entries, at);
      if (number != kMetadata && number != kMethods) continue;
      const uint64_t begin = pointers.at(first + at + 8);
      const uint64_t size = form->hasLength ? valueAt<uint32_t>(entries, at + 4) : pointers.at(first + at + 16) - begin;
      if (size > kMostBytes) return {};
      (number == kMetadata ? metadata : methods) = {begin, bytesAt(begin, size)};
    }
    return decode(metadata, methods);
  }

 private:
  std::vector<uint8_t> bytesAt(uint64_t address, uint64_t size) const {
    uint64_t offset = 0;
    if (!image_.addressToOffset(address, offset)) return {};
    image_.budget().takeBytes(size);
    return image_.read(offset, size);
  }

  AotNames decode(const Blob& metadata, const Blob& methods) const {
    AotNames names;
    AotMetadata types(metadata.bytes, image_.budget());
    const NativeReader reader(methods.bytes, image_.budget());
    uint64_t at = sizeof(uint32_t), read = 0;
    uint32_t owner = 0;
    std::string name;
    while (at < methods.bytes.size()) {
      image_.budget().takeSteps(kStepsOfEntry);
      const uint8_t command = methods.bytes[at++];
      if (command > kAll) throw Failure("its list of methods is damaged");
      if (command & kOwner) owner = fixed(methods, at);
      if (command & kName) name = types.string(reader.number(at));
      if (command & (kSignature | kGeneric)) reader.number(at);
      if (command & kGeneric) reader.number(at);
      const uint64_t place = methods.address + at;
      const auto distance = static_cast<int32_t>(fixed(methods, at));
      read++;
      // The first ones are code that the compiler made, and have no names.
      if (owner == 0 || name.empty()) continue;
      add(place + static_cast<uint64_t>(int64_t{distance}), types.typeName(owner), name, names);
    }
    if (methods.bytes.size() < sizeof(uint32_t) || read != valueAt<uint32_t>(methods.bytes, 0))
      throw Failure("its list of methods has another length");
    std::stable_sort(names.functions.begin(), names.functions.end(),
                     [](const AotFunction& a, const AotFunction& b) { return a.start < b.start; });
    return names;
  }

  static uint32_t fixed(const Blob& blob, uint64_t& at) {
    if (blob.bytes.size() - at < sizeof(uint32_t)) throw Failure("its list of methods is cut");
    at += sizeof(uint32_t);
    return valueAt<uint32_t>(blob.bytes, at - sizeof(uint32_t));
  }

  void add(uint64_t address, const std::string& type, const std::string& name, AotNames& names) const {
    if (address - code_->address >= code_->size) throw Failure("its list of methods leads elsewhere");
    const std::string text = type + "." + name;
    image_.budget().takeBytes(text.size() + 1 + sizeof(AotFunction));
    if (names.text.size() > kMostBytes) throw Failure("its names are too long");
    const uint64_t start = code_->offset + (address - code_->address);
    if (start > UINT32_MAX) return;
    names.functions.push_back(
        {static_cast<uint32_t>(start), static_cast<uint32_t>(names.text.size()), static_cast<uint32_t>(type.size())});
    names.text.insert(names.text.end(), text.begin(), text.end());
    names.text.push_back(0);
  }

  const ElfImage& image_;
  const Section* code_;
};

}  // namespace

AotNames readAotNames(const ElfImage& image) {
  try {
    return AotFile(image).read();
  } catch (const Failure&) {
    // A name in doubt is not shown.
    return {};
  }
}

}  // namespace polytop
