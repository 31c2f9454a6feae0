// SPDX-License-Identifier: Apache-2.0
//
// Precompiled .NET assemblies.
//
//   managed-code prologs FILE...
//     compares what the prolog of each function does to the stack with its unwind codes, at each point of the
//     prolog and behind it, and prints how many agree.
//   managed-code runtime FILE
//     prints what is told of the runtime in a file: its version, how its layout is known, why it is refused, some of
//     what the kernel side gets.
//   managed-code stubs FILE
//     looks in a runtime for the write barriers that it copies, and for its templates of call counting stubs, and
//     prints how many places are taken for each.
//   managed-code words HEX
//     takes the bytes for a stub and prints how many words it has pushed above its return address where the leaf is at
//     each of them.
//   managed-code damage SECONDS ELF FILE...
//     damages them and builds their rows, with the sanitizers on; also as a single-file program made of the ELF.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "arch/seh.h"
#include "bpf/arch/x86_dotnet.h"
#include "bpf/arch/x86_stubs.h"
#include "damage.h"
#include "dotnet/dotnet_file.h"
#include "dotnet/ready_to_run.h"
#include "elf_maker.h"

namespace {

using namespace polytop;

std::vector<uint8_t> readAll(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  std::vector<uint8_t> bytes(fd >= 0 && fstat(fd, &status) == 0 ? static_cast<size_t>(status.st_size) : 0);
  if (fd < 0 || read(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) bytes.clear();
  if (fd >= 0) close(fd);
  return bytes;
}

/// An assembly that is known to be good: read without a check.
struct Assembly {
  explicit Assembly(const std::vector<uint8_t>& content) : bytes(content) {
    const uint32_t header = at<uint32_t>(60);
    const size_t optional = header + 24, table = optional + at<uint16_t>(header + 20);
    for (uint32_t i = 0; i < at<uint16_t>(header + 6); i++)
      sections.push_back(
          {at<uint32_t>(table + 40 * i + 12), at<uint32_t>(table + 40 * i + 16), at<uint32_t>(table + 40 * i + 20)});
    const size_t cor = offset(at<uint32_t>(optional + (at<uint16_t>(optional) == 0x20b ? 112 : 96) + 8 * 14));
    readyToRun = cor ? offset(at<uint32_t>(cor + 64)) : 0;
    for (uint32_t i = 0; readyToRun && i < at<uint32_t>(readyToRun + 12); i++) {
      const size_t section = readyToRun + 16 + 12 * i;
      if (at<uint32_t>(section) == 102) functions = {offset(at<uint32_t>(section + 4)), at<uint32_t>(section + 8)};
    }
  }

  template <typename Value>
  Value at(size_t place) const {
    Value value = {};
    if (place + sizeof value <= bytes.size()) memcpy(&value, bytes.data() + place, sizeof value);
    return value;
  }
  size_t offset(uint32_t rva) const {
    for (const Section& section : sections) {
      if (rva >= section.rva && rva - section.rva < section.size) return section.raw + rva - section.rva;
    }
    return 0;
  }

  struct Section {
    uint32_t rva, size, raw;
  };
  const std::vector<uint8_t>& bytes;
  std::vector<Section> sections;
  size_t readyToRun = 0;
  Region functions = {0, 0};
};

struct Comparison {
  uint64_t functions = 0, points = 0, differing = 0, refused = 0;
};

/// Whether return address and saved rbp are where the rule says.
bool agrees(const struct prolog& prolog, const unwind_rule& rule) {
  const int64_t distance = rule.cfa == CFA_FP ? prolog.depth - prolog.fp_offset : prolog.depth;
  if ((rule.cfa == CFA_FP && !prolog.by_fp) || rule.cfa_offset - 8 != distance) return false;
  if ((rule.fp == FP_CFA) != (prolog.fp_is_saved != 0)) return false;
  return !prolog.fp_is_saved || rule.fp_offset == -8 - prolog.fp_depth;
}

bool beginsAt(const std::vector<SehRow>& rows, uint64_t offset) {
  return std::any_of(rows.begin(), rows.end(), [&](const SehRow& row) { return row.offset == offset; });
}

void compareFunction(const uint8_t* code, size_t size, const std::vector<SehRow>& rows, Comparison& sum) {
  constexpr size_t kSteps = 12, kRead = 40;  // as bpf/dotnet/unwind.h does
  uint8_t bytes[kRead] = {};
  memcpy(bytes, code, std::min(size, kRead));
  const uint64_t end = rows.back().offset;
  sum.functions++;
  for (uint64_t point = 0; point <= end + 1; point++) {
    const uint64_t limit = point > end ? ~0ULL : point;
    struct prolog prolog = {};
    prolog_step step = PROLOG_MORE;
    for (size_t i = 0; i < kSteps && step == PROLOG_MORE && prolog.position + INSTRUCTION_BYTES <= kRead; i++)
      step = prolog_instruction(&prolog, bytes + prolog.position, limit);
    unwind_rule rule = {};
    for (const SehRow& row : rows) {
      if (row.offset <= limit) rule = row.rule;
    }
    if (step == PROLOG_END) sum.points++;
    if (step == PROLOG_END && !agrees(prolog, rule)) sum.differing++;
    // A row says that its prolog can be followed to each of its instructions.
    const bool reached = step == PROLOG_END && (prolog.by_fp || prolog.position == point);
    if (point <= end && beginsAt(rows, point) && isPlainProlog(rows) && !reached) sum.differing++;
    if (step != PROLOG_END && point > end) sum.refused++;
  }
}

Comparison compareProlog(const std::vector<uint8_t>& bytes) {
  const Assembly assembly(bytes);
  Comparison sum;
  std::vector<SehRow> rows;
  for (size_t at = 0; at + 12 <= assembly.functions.size; at += 12) {
    const size_t entry = assembly.functions.offset + at;
    const size_t code = assembly.offset(assembly.at<uint32_t>(entry));
    const size_t info = assembly.offset(assembly.at<uint32_t>(entry + 8));
    if (code && info && sehRows(bytes.data() + info, bytes.size() - info, rows))
      compareFunction(bytes.data() + code, bytes.size() - code, rows, sum);
  }
  return sum;
}

/// A single-file program: the assembly behind the ELF file, and the place of the manifest in its data.
Original makeBundle(const std::vector<uint8_t>& elf, const Original& assembly) {
  static constexpr uint8_t kSignature[] = {0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93,
                                           0x02, 0x14, 0xd7, 0xa0, 0x32, 0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae,
                                           0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae};
  Original bundle;
  bundle.path = "(bundle of " + assembly.path + ")";
  bundle.bytes = elf;
  bundle.bytes.resize((elf.size() + 8191) / 4096 * 4096);
  const uint64_t start = bundle.bytes.size();
  bundle.bytes.insert(bundle.bytes.end(), assembly.bytes.begin(), assembly.bytes.end());
  const uint64_t manifest = bundle.bytes.size();
  ByteWriter writer;
  writer.u32(6).u32(0).u32(1).u8(2).u8('i').u8('d');
  for (int i = 0; i < 5; i++) writer.u64(0);
  writer.u64(start).u64(assembly.bytes.size()).u64(0).u8(1).u8(1).u8('a');
  bundle.bytes.insert(bundle.bytes.end(), writer.bytes.begin(), writer.bytes.end());
  std::string error;
  const auto image = ElfImage::openMemory(elf.data(), elf.size(), error);
  for (const Segment& segment : image->segments()) {
    if (segment.type != PT_LOAD || !(segment.flags & PF_W) || segment.fileSize < 48) continue;
    memcpy(&bundle.bytes[segment.offset], &manifest, 8);
    memcpy(&bundle.bytes[segment.offset + 8], kSignature, sizeof kSignature);
    bundle.regions.push_back({segment.offset, 40});
  }
  bundle.regions.push_back({manifest, writer.bytes.size()});
  for (const Region& region : assembly.regions) bundle.regions.push_back({start + region.offset, region.size});
  return bundle;
}

template <typename Value>
void put(std::vector<uint8_t>& bytes, size_t place, Value value) {
  if (place + sizeof value <= bytes.size()) memcpy(&bytes[place], &value, sizeof value);
}

/// The assembly as the runtime also takes a composite image: its code is found by an export, which is written over the
/// COR header. Its second function is made a cold part of the first.
Original makeComposite(const Original& original) {
  Original composite = original;
  composite.path = original.path + " by its export";
  std::vector<uint8_t>& bytes = composite.bytes;
  const Assembly assembly(original.bytes);
  const size_t optional = assembly.at<uint32_t>(60) + 24;
  const size_t directories = optional + (assembly.at<uint16_t>(optional) == 0x20b ? 112 : 96);
  const auto cor = assembly.at<uint32_t>(directories + 8 * 14);
  const size_t at = assembly.offset(cor);
  const auto header = assembly.at<uint32_t>(at + 64);
  ByteWriter exports;
  for (int i = 0; i < 7; i++) exports.u32(0);
  exports.u32(cor + 40).u32(cor + 44).u32(cor + 48).u32(header).u32(cor + 50).u16(0).text("RTR_HEADER");
  memcpy(&bytes[at], exports.bytes.data(), exports.bytes.size());
  put<uint64_t>(bytes, directories + 8 * 14, 0);
  put<uint64_t>(bytes, directories, cor | uint64_t{61} << 32);
  composite.regions.push_back({at, exports.bytes.size()});
  const size_t functions = assembly.functions.offset;
  const size_t info = assembly.offset(assembly.at<uint32_t>(functions + 12 + 8));
  put<uint32_t>(bytes, info, 0x21);
  for (size_t i = 0; i < 3; i++) put(bytes, info + 4 + 4 * i, assembly.at<uint32_t>(functions + 4 * i));
  composite.regions.push_back({info, 16});
  return composite;
}

Original makeOriginal(const char* path) {
  Original original;
  original.path = path;
  original.bytes = readAll(path);
  const Assembly assembly(original.bytes);
  const uint64_t info = assembly.offset(assembly.at<uint32_t>(assembly.functions.offset + 8));
  original.regions = {{0, 0x400}, {assembly.readyToRun, 512}, assembly.functions, {info, 4096}};
  return original;
}

void printWords(const std::string& hex) {
  std::vector<uint8_t> stub;
  for (size_t at = 0; at + 2 <= hex.size(); at += 2)
    stub.push_back(static_cast<uint8_t>(std::stoul(hex.substr(at, 2), nullptr, 16)));
  for (size_t leaf = 0; leaf < stub.size(); leaf++) {
    // As bpf/dotnet/step.h reads them: the stub is aligned, and zeros are around it.
    const size_t begin = leaf / STUB_ALIGNMENT * STUB_ALIGNMENT;
    alignas(8) uint8_t bytes[STUB_BYTES] = {};
    for (size_t at = 0; at < stub.size(); at++) {
      const size_t place = STUB_BELOW + at - begin;
      if (place < STUB_BYTES) bytes[place] = stub[at];
    }
    std::printf("%u", stub_words(bytes, static_cast<uint32_t>(STUB_BELOW + leaf - begin)));
  }
  std::printf("\n");
}

/// How many functions have rows; what is not sound is said and counts as a failure.
bool build(const Original& original, const std::vector<uint8_t>& bytes, uint64_t& functions) {
  const int fd = memfd_create("damaged", MFD_CLOEXEC);
  if (fd < 0 || write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return false;
  RuleSet rules;
  UnwindTable table;
  std::string error;
  if (original.path.starts_with('(')) {
    const auto image = ElfImage::open(fd, error);
    if (image) addBundleRows(fd, *image, rules, table);
  } else {
    buildImageTable(fd, rules, table, error);
  }
  close(fd);
  functions = table.fdeCount;
  return isSound(table, rules);
}

int printRuntime(const char* path) {
  std::string error;
  const std::vector<uint8_t> bytes = readAll(path);
  const auto image = ElfImage::openMemory(bytes.data(), bytes.size(), error);
  const auto runtime = image ? findDotnetRuntime(*image) : std::nullopt;
  if (!runtime) {
    std::printf("no runtime %s\n", error.c_str());
    return 0;
  }
  const dotnet_facts& facts = runtime->facts;
  std::printf("%u %s\n%s\n%u %u %u\n", runtime->major, runtime->descriptor ? "described" : "measured",
              runtime->error.c_str(), facts.nibble_map, facts.layout_base, facts.allocator_number);
  for (const uint8_t stub : facts.stubs) std::printf("%u ", stub);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && strcmp(argv[1], "prologs") == 0) {
    Comparison sum;
    for (int i = 2; i < argc; i++) {
      const Comparison one = compareProlog(readAll(argv[i]));
      sum.functions += one.functions;
      sum.points += one.points;
      sum.differing += one.differing;
      sum.refused += one.refused;
    }
    std::printf("%" PRIu64 " functions, %" PRIu64 " points, %" PRIu64 " differ, %" PRIu64 " functions refused\n",
                sum.functions, sum.points, sum.differing, sum.refused);
    return 0;
  }
  if (argc == 3 && strcmp(argv[1], "stubs") == 0) {
    const std::vector<uint8_t> bytes = readAll(argv[2]);
    int barriers = 0, counting = 0;
    for (size_t at = STUB_CODE_BEFORE; at + STUB_CODE_BYTES <= bytes.size(); at++) {
      barriers += is_write_barrier(bytes.data() + at);
      counting += is_counting_stub(bytes.data() + at - STUB_CODE_BEFORE);
    }
    std::printf("%d barriers, %d places in counting stubs\n", barriers, counting);
    return 0;
  }
  if (argc == 3 && strcmp(argv[1], "runtime") == 0) return printRuntime(argv[2]);
  if (argc == 3 && strcmp(argv[1], "words") == 0) {
    printWords(argv[2]);
    return 0;
  }
  if (argc < 5 || strcmp(argv[1], "damage") != 0) return 2;
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[2]));
  const std::vector<uint8_t> elf = readAll(argv[3]);
  std::vector<Original> originals;
  for (int i = 4; i < argc; i++) {
    originals.push_back(makeOriginal(argv[i]));
    originals.push_back(makeComposite(originals.back()));
    originals.push_back(makeBundle(elf, originals.back()));
  }
  uint64_t done = 0, built = 0, functions = 0;
  for (const Original& original : originals) {
    if (build(original, original.bytes, functions) && functions > 0) continue;
    std::printf("%s has no rows\n", original.path.c_str());
    return 1;
  }
  for (uint64_t seed = 1; std::chrono::steady_clock::now() < latest; seed++) {
    for (const Original& original : originals) {
      Random random(seed);
      std::vector<uint8_t> bytes = original.bytes;
      damage(bytes, original, random);
      if (!build(original, bytes, functions)) {
        std::printf("%s, seed %" PRIu64 ": the table is not sound\n", original.path.c_str(), seed);
        return 1;
      }
      built += functions > 0 ? 1 : 0;
      done++;
    }
  }
  std::printf("%" PRIu64 " damaged files, %" PRIu64 " of them with rows\n", done, built);
  return 0;
}
