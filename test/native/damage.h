// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "unwind/sound_table.h"
#include "unwind/unwind_table.h"

// What the fuzzers of the builders of unwind rows share.
namespace polytop {

/// splitmix64 (public domain algorithm): small, and the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t limit) { return limit == 0 ? 0 : next() % limit; }

 private:
  uint64_t state_;
};

/// A part of a file.
struct Region {
  uint64_t offset;
  uint64_t size;
};

/// A file to damage.
struct Original {
  std::string path;
  std::vector<uint8_t> bytes;
  std::vector<Region> regions;  // what the parsers read, worth damaging
};

inline uint64_t interesting(Random& random) {
  static constexpr uint64_t kValues[] = {0,          1,          0x7f,       0x80,
                                         0xff,       0x7fff,     0x7fffffff, 0x80000000,
                                         0xfffffff0, 0xffffffff, 1ULL << 32, 0x7fffffffffffffffULL,
                                         1ULL << 63, ~0ULL,      ~0ULL - 7,  1ULL << 40};
  return random.below(3) == 0 ? random.next() : kValues[random.below(std::size(kValues))];
}

/// Changes some bytes of the file's regions, or cuts it.
inline void damage(std::vector<uint8_t>& bytes, const Original& original, Random& random) {
  for (uint64_t count = 1 + random.below(16); count > 0; count--) {
    const Region& region = original.regions[random.below(original.regions.size())];
    const uint64_t at = region.offset + random.below(region.size);
    if (at + 8 > bytes.size()) continue;
    switch (random.below(7)) {
      case 0:
        bytes[at] ^= static_cast<uint8_t>(1U << random.below(8));
        break;
      case 1:
        bytes[at] = static_cast<uint8_t>(random.next());
        break;
      case 2: {
        const uint64_t value = interesting(random);
        std::memcpy(&bytes[at & ~3ULL], &value, 4);
        break;
      }
      case 3: {
        const uint64_t value = interesting(random);
        std::memcpy(&bytes[at & ~7ULL], &value, 8);
        break;
      }
      case 4: {
        const uint64_t from = random.below(bytes.size());
        const uint64_t size = std::min(random.below(256), bytes.size() - std::max(at, from));
        std::memmove(&bytes[at], &bytes[from], size);
        break;
      }
      case 5: {
        const uint64_t end = std::min<uint64_t>(at + random.below(64), bytes.size());
        for (uint64_t i = at; i < end; i++) bytes[i] = static_cast<uint8_t>(random.next());
        break;
      }
      default:
        // Rarely: half of the files keep their full length, else little else would be tried.
        if (random.below(8) == 0) bytes.resize(random.below(bytes.size()) + 1);
    }
  }
}

/// Whether a table is what the kernel side relies on.
inline bool isSound(const UnwindTable& table, const RuleSet& rules) { return isSoundTable(table, rules.size()); }

}  // namespace polytop
