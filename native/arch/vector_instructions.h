// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arch/operands.h"

namespace polytop::arch {

/// Instructions with a VEX, EVEX or XOP prefix.
class VectorInstructions : protected Operands {
 protected:
  using Operands::Operands;

  /// `prefix`: VEX (0xc4, 0xc5), EVEX (0x62) or XOP (0x8f).
  Effect readVector(uint8_t prefix) {
    const uint8_t first = next();
    const uint8_t second = prefix == 0xc5 ? first : next();
    const bool isLong = prefix == 0x62;
    if (isLong) next();
    uint32_t map = 1;
    extendsReg_ = !(first >> 7 & 1);
    if (prefix != 0xc5) {
      extendsIndex_ = !(first >> 6 & 1);
      extendsRm_ = !(first >> 5 & 1);
      map = first & (isLong ? 7 : 0x1f);
    }
    vvvv_ = ~(second >> 3) & 0xf;
    const uint32_t repeat = second & 3;
    const uint8_t opcode = next();
    // All of them have operands, but for vzeroupper.
    const bool isBare = !isLong && map == 1 && opcode == 0x77;
    if (!isBare) readModRm();
    if (prefix == 0x8f) {
      if (map > 10) return Effect::kInvalid;
      number(map == 8 ? 1 : map == 10 ? 4 : 0);
      // Of bits and of contexts for profiling: they write general registers.
      if (map == 9 && (opcode == 0x01 || opcode == 0x02)) return effectOf(kVvvv);
      if (map == 9 && opcode == 0x12) return effectOf(kRm);
      return effectOf(map == 10 && opcode == 0x10 ? kReg : 0);
    }
    if (map == 0 || map == 4 || map > (isLong ? 6 : 3)) return Effect::kInvalid;
    const bool hasByte =
        map == 3 ||
        (map == 1 && ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6)));
    if (hasByte) next();
    return effectOf(vectorForm(map, opcode, repeat, isLong));
  }

 private:
  static uint16_t vectorForm(uint32_t map, uint8_t opcode, uint32_t repeat, bool isLong) {
    if (map == 1 || map == 5) {
      if (opcode == 0x2c || opcode == 0x2d || (isLong && (opcode == 0x78 || opcode == 0x79)))
        return repeat >= 2 ? kReg : 0;
      if (opcode == 0x7e) return repeat == 1 ? kRm : 0;
      if (isLong) return opcode == 0xc5 ? kReg : 0;
      return opcode == 0x50 || opcode == 0x93 || opcode == 0xc5 || opcode == 0xd7 ? kReg : 0;
    }
    if (map == 3) return opcode >= 0x14 && opcode <= 0x17 ? kRm : opcode == 0xf0 ? kReg : 0;
    if (map != 2 || isLong) return 0;
    if (opcode == 0xf3) return kVvvv;
    if (opcode == 0xf6) return kReg | kVvvv;
    return opcode == 0xf2 || opcode == 0xf5 || opcode == 0xf7 || (opcode >= 0xe0 && opcode <= 0xef) ? kReg : 0;
  }
};

}  // namespace polytop::arch
