// SPDX-License-Identifier: Apache-2.0
//
// The opcode maps of x86-64 as far as lengths and written registers go (Intel 64 and IA-32 Architectures Software
// Developer's Manual, volume 2, appendix A).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace polytop::arch {

/// What an opcode has behind it, and which operand in general registers it writes.
enum Form : uint16_t {
  kBad = 1 << 0,
  kModRm = 1 << 1,
  kByte = 1 << 2,   ///< an immediate of one byte
  kWord = 1 << 3,   ///< of two
  kFull = 1 << 4,   ///< of four, with a prefix two
  kReg = 1 << 5,    ///< writes the register of ModRM.reg
  kRm = 1 << 6,     ///< writes that of ModRM.rm
  kSmall = 1 << 7,  ///< these are byte registers
  kVvvv = 1 << 8,   ///< writes that of VEX.vvvv
};

using Map = std::array<uint16_t, 256>;

constexpr void fill(Map& map, int first, int last, uint16_t form) {
  for (int at = first; at <= last; at++) map[static_cast<size_t>(at)] = form;
}

constexpr Map makeOneByteMap() {
  Map map{};
  for (int at = 0; at < 0x40; at += 8) {
    const uint16_t writes = at == 0x38 ? 0 : 1;
    map[at] = kModRm | kSmall | writes * kRm;
    map[at + 1] = kModRm | writes * kRm;
    map[at + 2] = kModRm | kSmall | writes * kReg;
    map[at + 3] = kModRm | writes * kReg;
    map[at + 4] = kByte;
    map[at + 5] = kFull;
    map[at + 6] = map[at + 7] = kBad;
  }
  fill(map, 0x60, 0x61, kBad);
  map[0x63] = kModRm | kReg;
  map[0x68] = kFull;
  map[0x69] = kModRm | kFull | kReg;
  map[0x6a] = kByte;
  map[0x6b] = kModRm | kByte | kReg;
  fill(map, 0x70, 0x7f, kByte);
  map[0x80] = kModRm | kByte | kRm | kSmall;
  map[0x81] = kModRm | kFull | kRm;
  map[0x82] = kBad;
  map[0x83] = kModRm | kByte | kRm;
  fill(map, 0x84, 0x85, kModRm);
  map[0x86] = kModRm | kReg | kRm | kSmall;
  map[0x87] = kModRm | kReg | kRm;
  map[0x88] = kModRm | kRm | kSmall;
  map[0x89] = kModRm | kRm;
  map[0x8a] = kModRm | kReg | kSmall;
  map[0x8b] = kModRm | kReg;
  map[0x8c] = kModRm | kRm;
  map[0x8d] = kModRm | kReg;
  map[0x8e] = kModRm;
  map[0x8f] = kModRm | kRm;
  map[0x9a] = kBad;
  map[0xa8] = kByte;
  map[0xa9] = kFull;
  fill(map, 0xb0, 0xb7, kByte);
  fill(map, 0xb8, 0xbf, kFull);
  map[0xc0] = kModRm | kByte | kRm | kSmall;
  map[0xc1] = kModRm | kByte | kRm;
  map[0xc2] = kWord;
  map[0xc6] = kModRm | kByte | kRm | kSmall;
  map[0xc7] = kModRm | kFull | kRm;
  map[0xc8] = kWord | kByte;
  map[0xca] = kWord;
  map[0xcd] = kByte;
  map[0xce] = kBad;
  map[0xd0] = map[0xd2] = kModRm | kRm | kSmall;
  map[0xd1] = map[0xd3] = kModRm | kRm;
  fill(map, 0xd4, 0xd6, kBad);
  fill(map, 0xd8, 0xdf, kModRm);
  fill(map, 0xe0, 0xe7, kByte);
  fill(map, 0xe8, 0xe9, kFull);
  map[0xea] = kBad;
  map[0xeb] = kByte;
  map[0xf6] = map[0xfe] = kModRm | kRm | kSmall;
  map[0xf7] = map[0xff] = kModRm | kRm;
  return map;
}

constexpr Map makeTwoByteMap() {
  Map map{};
  map[0x00] = map[0x01] = kModRm | kRm;
  map[0x02] = map[0x03] = kModRm | kReg;
  map[0x04] = map[0x0a] = map[0x0c] = kBad;
  map[0x0d] = kModRm;
  map[0x0f] = kModRm | kByte;
  fill(map, 0x10, 0x2f, kModRm);
  fill(map, 0x20, 0x23, kBad);
  fill(map, 0x24, 0x27, kBad);
  map[0x36] = kBad;
  fill(map, 0x38, 0x3f, kBad);
  fill(map, 0x40, 0x4f, kModRm | kReg);
  fill(map, 0x50, 0x76, kModRm);
  map[0x50] |= kReg;
  fill(map, 0x70, 0x73, kModRm | kByte);
  map[0x78] = kModRm | kRm;
  map[0x79] = kModRm;
  fill(map, 0x7a, 0x7b, kBad);
  fill(map, 0x7c, 0x7f, kModRm);
  fill(map, 0x80, 0x8f, kFull);
  fill(map, 0x90, 0x9f, kModRm | kRm | kSmall);
  map[0xa3] = kModRm;
  map[0xa4] = map[0xac] = kModRm | kByte | kRm;
  map[0xa5] = map[0xab] = map[0xad] = map[0xb3] = map[0xbb] = kModRm | kRm;
  fill(map, 0xa6, 0xa7, kModRm);
  map[0xae] = kModRm;
  map[0xaf] = kModRm | kReg;
  map[0xb0] = kModRm | kRm | kSmall;
  map[0xb1] = kModRm | kRm;
  map[0xb2] = map[0xb4] = map[0xb5] = map[0xb6] = map[0xb7] = map[0xb8] = kModRm | kReg;
  map[0xb9] = kModRm;
  map[0xba] = kModRm | kByte | kRm;
  fill(map, 0xbc, 0xbf, kModRm | kReg);
  map[0xc0] = kModRm | kReg | kRm | kSmall;
  map[0xc1] = kModRm | kReg | kRm;
  map[0xc2] = map[0xc4] = map[0xc6] = kModRm | kByte;
  map[0xc3] = kModRm;
  map[0xc5] = kModRm | kByte | kReg;
  map[0xc7] = kModRm | kRm;
  fill(map, 0xd0, 0xff, kModRm);
  map[0xd7] |= kReg;
  return map;
}

inline constexpr Map kOneByte = makeOneByteMap(), kTwoByte = makeTwoByteMap();

}  // namespace polytop::arch
