// SPDX-License-Identifier: Apache-2.0
//
// Damages real ELF files and builds unwind rows from them, with the sanitizers on.
//
//   fuzz-unwind [--iterations N] [--seconds S] [--seed N] FILE...
//
// Deterministic: iteration i of a file depends on seed, i and the file alone. Stops at the first fault and prints
// what repeats it: --seed SEED --iterations 1.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "damage.h"
#include "elf_maker.h"
#include "unwind/unwind_table.h"

namespace {

using namespace polytop;

bool readFile(const char* path, Original& original) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  std::string error;
  const auto image = ElfImage::open(fd, error);
  if (image != nullptr) {
    original.path = path;
    original.bytes = image->read(0, image->fileSize());
    original.regions.push_back({0, sizeof(Elf64_Ehdr)});
    original.regions.push_back({sizeof(Elf64_Ehdr), image->segments().size() * sizeof(Elf64_Phdr)});
    for (const char* name : {".eh_frame", ".eh_frame", ".eh_frame", ".eh_frame_hdr", ".shstrtab"}) {
      const Section* section = image->section(name);
      if (section != nullptr) original.regions.push_back({section->offset, section->size});
    }
    Elf64_Ehdr header;
    std::memcpy(&header, original.bytes.data(), sizeof header);
    original.regions.push_back({header.e_shoff, image->sections().size() * sizeof(Elf64_Shdr)});
    original.regions.push_back({0, original.bytes.size()});
  }
  close(fd);
  return image != nullptr;
}

/// A made file, since no program here has a .debug_frame: functions of many kinds of instructions.
Original makeDebugFrame() {
  ByteWriter frame;
  ByteWriter cie;
  cie.u32(0xffffffff).u8(4).text("").u8(8).u8(0).u8(1).u8(0x78).u8(16).add(kUsualStart);
  frame.u32(cie.bytes.size()).add(cie.bytes);
  const Program programs[] = {
      {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x02, 9, 0x0c, 7, 8, 0x41, 0x0b},
      {0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0, 0x44, 0xc6, 0x06, 3},
      {0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22},
      {0x11, 16, 17, 0x03, 4, 0, 0x12, 7, 0x7e, 0x2e, 32, 0x2f, 6, 3, 0x14, 7, 0, 0x09, 6, 9, 0x07, 16},
  };
  for (uint32_t i = 0; i < 200; i++) {
    ByteWriter fde;
    fde.u32(0).u64(kCodeAddress + i * 56).u64(48).add(programs[i % std::size(programs)]);
    frame.u32(fde.bytes.size()).add(fde.bytes);
  }
  ElfParts parts;
  parts.name = ".debug_frame";
  parts.frame = frame.bytes;
  Original original;
  original.path = "(made .debug_frame)";
  original.bytes = makeElf(parts);
  original.regions = {{kFrameOffset, parts.frame.size()}, {kFrameOffset, parts.frame.size()}, {0, 256}};
  return original;
}

bool tryOne(const Original& original, uint64_t seed, uint64_t& built) {
  Random random(seed);
  std::vector<uint8_t> bytes = original.bytes;
  damage(bytes, original, random);
  // A file without section headers goes by PT_GNU_EH_FRAME.
  if (random.below(4) == 0 && bytes.size() >= sizeof(Elf64_Ehdr)) {
    const uint64_t none = 0;
    std::memcpy(&bytes[offsetof(Elf64_Ehdr, e_shoff)], &none, sizeof none);
  }
  bytes.shrink_to_fit();  // so that the sanitizer sees the first byte behind it

  RuleSet rules;
  std::string error;
  const auto start = std::chrono::steady_clock::now();
  UnwindTable table;
  if (random.below(8) == 0) {
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    bool good = fd >= 0 && write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    const auto image = good ? ElfImage::open(fd, error) : nullptr;
    // The owner of the file may cut it while it is read.
    if (random.below(2) == 0) good = ftruncate(fd, static_cast<off_t>(random.below(bytes.size()))) == 0;
    if (good && image != nullptr) {
      table = buildUnwindTable(*image, rules);
      image->buildId();
    }
    if (fd >= 0) close(fd);
  } else {
    const auto image = ElfImage::openMemory(bytes.data(), bytes.size(), error);
    if (image != nullptr) {
      table = buildUnwindTable(*image, rules);
      image->buildId();
    }
  }
  built += table.fdeCount > 0 ? 1 : 0;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  if (spent.count() > 5) {
    std::printf("%s --seed %" PRIu64 " --iterations 1: took %.1f s\n", original.path.c_str(), seed, spent.count());
    return false;
  }
  if (!isSound(table, rules) || table.source.empty() != (table.fdeCount == 0)) {
    std::printf("%s --seed %" PRIu64 " --iterations 1: the table is not sound\n", original.path.c_str(), seed);
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t iterations = 1000;
  uint64_t seed = 1;
  double seconds = 1e9;
  std::vector<Original> originals = {makeDebugFrame()};
  for (int i = 1; i < argc; i++) {
    if (std::strcmp(argv[i], "--iterations") == 0 && i + 1 < argc) {
      iterations = std::strtoull(argv[++i], nullptr, 10);
    } else if (std::strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (std::strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
      seconds = std::strtod(argv[++i], nullptr);
    } else {
      Original original;
      if (!readFile(argv[i], original)) {
        std::fprintf(stderr, "%s: no ELF file that can be read\n", argv[i]);
        return 2;
      }
      originals.push_back(std::move(original));
    }
  }
  const auto start = std::chrono::steady_clock::now();
  uint64_t done = 0;
  uint64_t built = 0;
  for (uint64_t i = 0; i < iterations; i++) {
    for (const Original& original : originals) {
      // Said before the work: after a crash it is the last line.
      if (std::getenv("FUZZ_VERBOSE") != nullptr)
        std::fprintf(stderr, "%s %" PRIu64 "\n", original.path.c_str(), seed + i);
      if (!tryOne(original, seed + i, built)) return 1;
      done++;
    }
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    if (spent.count() > seconds) break;
  }
  std::printf("%" PRIu64 " damaged files, %" PRIu64 " of them with rows\n", done, built);
  return 0;
}
