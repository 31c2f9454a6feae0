// SPDX-License-Identifier: Apache-2.0
#include "unwind/eh_frame.h"

#include <algorithm>
#include <limits>

namespace polytop {
namespace {

constexpr uint32_t kExtendedLength = 0xffffffff;
constexpr uint32_t kDebugFrameCie = 0xffffffff;
constexpr uint64_t kDebugFrameCie64 = ~0ULL;

// Work allowed for each byte of the section. A well-formed one needs 1 for its walk and 1 for its programs; a
// crafted one can have entries that overlap, and each would be read from its own start to the common end.
constexpr uint64_t kWorkPerByte = 4;
constexpr uint64_t kMinimumWork = 1 << 16;
constexpr uint64_t kMaxReserved = 1 << 18;
// A bound on memory (16 MB). Linkers merge CIEs to a handful, only .debug_frame has one for each unit.
constexpr size_t kMaxCies = 1 << 16;

// The head of an entry: where its content is and what it belongs to.
struct EntryHead {
  uint64_t idPosition = 0;
  uint64_t id = 0;
  uint64_t end = 0;
  bool is64 = false;
  bool empty = false;
};

// Reads the length and the id and leaves the cursor behind them; false if the length is out of range.
bool readHead(DwarfReader& reader, bool eh, EntryHead& head) {
  uint64_t length = reader.fixed<uint32_t>();
  if (length == kExtendedLength) {
    length = reader.fixed<uint64_t>();
    head.is64 = true;
  }
  if (reader.failed() || length > reader.left()) return false;
  head.idPosition = reader.position();
  head.end = head.idPosition + length;
  head.empty = length == 0;
  if (head.empty) return true;
  // .eh_frame keeps the id at four bytes with either length (LSB Core 10.6.1.1).
  const uint64_t idSize = head.is64 && !eh ? 8 : 4;
  if (length < idSize) return false;
  head.id = idSize == 8 ? reader.fixed<uint64_t>() : reader.fixed<uint32_t>();
  return true;
}

bool isCie(const EntryHead& head, bool eh) {
  if (eh) return head.id == 0;
  return head.is64 ? head.id == kDebugFrameCie64 : head.id == kDebugFrameCie;
}

}  // namespace

FrameReader::FrameReader(const FrameSection& section)
    : section_(section), budget_(section.bytes.size() * kWorkPerByte + kMinimumWork) {}

bool FrameReader::charge(uint64_t bytes) {
  if (bytes > budget_) {
    budget_ = 0;
    return false;
  }
  budget_ -= bytes;
  return true;
}

void FrameReader::readAll() { walk(false); }

void FrameReader::readToTerminator() { walk(true); }

void FrameReader::walk(bool stopAtTerminator) {
  // An FDE has 40 bytes on average; a size that is a lie must not cost memory.
  fdes_.reserve(std::min<uint64_t>(section_.bytes.size() / 40, kMaxReserved));
  DwarfReader reader(section_.bytes.data(), 0, section_.bytes.size());
  // Less than a length field at the end is padding.
  while (reader.left() >= sizeof(uint32_t)) {
    bool terminator = false;
    if (!readEntry(reader, terminator)) {
      cut_ = true;
      return;
    }
    // Linkers concatenate sections, and each may bring a terminator of its own: more may follow.
    if (terminator && stopAtTerminator) return;
  }
}

void FrameReader::readOne(uint64_t offset) {
  DwarfReader reader(section_.bytes.data(), offset, section_.bytes.size());
  bool terminator = false;
  if (reader.failed() || !readEntry(reader, terminator)) skipped_++;
}

// Reads the entry at the cursor and moves behind it; false if there is no telling where it ends.
bool FrameReader::readEntry(DwarfReader& reader, bool& terminator) {
  EntryHead head;
  if (!readHead(reader, section_.eh, head)) return false;
  terminator = head.empty;
  if (!head.empty && !isCie(head, section_.eh)) {
    const uint64_t contentBegin = reader.position();
    // A CIE is found by its distance from the id (.eh_frame) or its offset in the section (.debug_frame).
    const uint64_t cieOffset = section_.eh ? head.idPosition - head.id : head.id;
    const bool reachable = !section_.eh || head.id <= head.idPosition;
    DwarfReader content(section_.bytes.data(), contentBegin, head.end);
    if (!reachable || !readFde(content, cieOffset)) skipped_++;
  }
  reader.skip(head.end - reader.position());
  return true;
}

bool FrameReader::readFde(DwarfReader& reader, uint64_t cieOffset) {
  if (fdes_.size() >= kMaxFdes || !charge(reader.left())) return false;
  uint32_t index = 0;
  if (!findCie(cieOffset, index)) return false;
  const Cie& cie = cies_[index];
  Fde fde;
  fde.cie = index;
  fde.address = reader.encodedPointer(cie.pointerEncoding, section_.address, 0);
  // The length has the format of the pointer without its base, and is no signed number.
  const uint64_t formatBits = cie.pointerEncoding & pointer_encoding::kFormatMask & ~0x08;
  const uint64_t size = reader.encodedValue(static_cast<uint8_t>(formatBits));
  if (cie.hasAugmentationData) reader.skip(reader.uleb());
  if (reader.failed()) return false;
  fde.size = static_cast<uint32_t>(std::min<uint64_t>(size, std::numeric_limits<uint32_t>::max()));
  fde.programBegin = static_cast<uint32_t>(reader.position());
  fde.programEnd = static_cast<uint32_t>(reader.end());
  // Length 0: code that the linker dropped.
  if (fde.size > 0) fdes_.push_back(fde);
  return true;
}

bool FrameReader::findCie(uint64_t offset, uint32_t& index) {
  if (offset != lastCieOffset_) {
    const auto found = cieIndexes_.find(offset);
    if (found != cieIndexes_.end()) {
      lastCieIndex_ = found->second;
    } else {
      if (cies_.size() >= kMaxCies) return false;
      Cie cie;
      cie.valid = readCie(offset, cie);
      lastCieIndex_ = static_cast<uint32_t>(cies_.size());
      cies_.push_back(cie);
      cieIndexes_.emplace(offset, lastCieIndex_);
    }
    lastCieOffset_ = offset;
  }
  index = lastCieIndex_;
  return cies_[index].valid;
}

bool FrameReader::readCie(uint64_t offset, Cie& cie) {
  DwarfReader outer(section_.bytes.data(), offset, section_.bytes.size());
  EntryHead head;
  if (outer.failed() || !readHead(outer, section_.eh, head) || head.empty || !isCie(head, section_.eh)) return false;
  if (!charge(head.end - head.idPosition)) return false;
  DwarfReader reader(section_.bytes.data(), outer.position(), head.end);

  const uint8_t version = reader.fixed<uint8_t>();
  if (version != 1 && version != 3 && version != 4) return false;
  const char* augmentation = reader.string();
  if (version == 4) {
    const uint8_t addressSize = reader.fixed<uint8_t>();
    const uint8_t segmentSize = reader.fixed<uint8_t>();
    if (addressSize != 8 || segmentSize != 0) return false;
  }
  // GCC 2: the address of an exception table, which nothing here needs.
  if (augmentation[0] == 'e' && augmentation[1] == 'h') {
    reader.skip(8);
    augmentation += 2;
  }
  cie.codeAlignment = reader.uleb();
  cie.dataAlignment = reader.sleb();
  cie.returnAddressRegister = version == 1 ? reader.fixed<uint8_t>() : reader.uleb();
  if (!readAugmentation(reader, augmentation, cie) || reader.failed()) return false;

  CfaMachine machine(section_, cie, reader.position(), reader.end(), 0);
  // Initial instructions that move on are malformed: they belong to no code.
  if (machine.advance() || machine.malformed()) return false;
  cie.initial = machine.state();
  return true;
}

// LSB Core 10.6.1.1.1; 'S' and 'B' from GCC and binutils.
bool FrameReader::readAugmentation(DwarfReader& reader, const char* augmentation, Cie& cie) {
  if (*augmentation == 0) return true;
  // Without 'z' nothing says how long the data of an unknown letter is.
  if (*augmentation != 'z') return false;
  cie.hasAugmentationData = true;
  const uint64_t size = reader.uleb();
  if (reader.failed() || size > reader.left()) return false;
  DwarfReader data(section_.bytes.data(), reader.position(), reader.position() + size);
  reader.skip(size);
  for (const char* letter = augmentation + 1; *letter != 0; letter++) {
    switch (*letter) {
      case 'R':
        cie.pointerEncoding = data.fixed<uint8_t>();
        break;
      case 'L':
        data.skip(1);
        break;
      case 'P': {
        const uint8_t encoding = data.fixed<uint8_t>();
        if (encoding == pointer_encoding::kOmit) break;
        if ((encoding & pointer_encoding::kBaseMask) == pointer_encoding::kAligned) {
          data.skip((0 - (section_.address + data.position())) & 7);
        }
        data.encodedValue(encoding);
        break;
      }
      case 'S':
        cie.signalFrame = true;
        break;
      case 'B':
        break;
      default:
        return false;
    }
  }
  return !data.failed();
}

}  // namespace polytop
