// SPDX-License-Identifier: Apache-2.0
//
// Files that are well-formed and lie: about how much there is, how often, how far apart. Each is read in a process of
// its own that may take little memory and little time, as little as an honest file of its size would.
// `hostile_cases write FOLDER` writes them instead, as files that an attacker can run.
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <zlib.h>

#include <cstring>
#include <functional>
#include <utility>

#include "ask_here.h"
#include "dotnet/dotnet_file.h"
#include "dotnet/ready_to_run.h"
#include "elf_file.h"
#include "elf_maker.h"
#include "perl/perl_file.h"
#include "unwind/unwind_table.h"

namespace {

using namespace polytop;

constexpr uint64_t kMegabyte = 1 << 20;
constexpr rlim_t kSeconds = 3;
constexpr uint64_t kText = 0x401000;

template <typename Work>
void attempt(const char* what, Work work) {
  try {
    work();
  } catch (const Overspent& reason) {
    std::printf("  %s: %s\n", what, reason.what());
  }
}

/// Reads a file as the builder of tables does, and as whoever names its functions does.
void readAll(const SparseFile& file) {
  std::string error;
  RuleSet rules;
  UnwindTable table;
  const auto image = ElfImage::open(file.fd(), error);
  if (!image) {
    attempt("image", [&] { buildImageTable(file.fd(), rules, table, error); });
    std::printf("  %zu rows\n", table.rows.size());
    return;
  }
  attempt("rows", [&] { table = buildUnwindTable(*image, rules); });
  attempt("perl", [&] { readPerlFile(*image); });
  attempt("dotnet", [&] { findDotnetRuntime(*image); });
  attempt("bundle", [&] { addBundleRows(file.fd(), *image, rules, table); });
  attempt("symbols", [&] {
    const auto index = readSymbolIndex(askHere, file.fd(), "/nonexistent");
    findNamed(askHere, *index, file.fd(), 0x1000, 0);
    std::printf("  %zu rows %s, %zu symbols\n", table.rows.size(), table.warning.c_str(), index->size());
  });
}

void addCode(LyingElf& elf, uint64_t size) {
  elf.addSegment(PT_LOAD, PF_R | PF_X, 0x1000, kText, size);
  elf.addSection(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, kText, 0x1000, size);
}

/// Many tables of symbols over the same bytes, in a file that claims to be a perl.
void makeSymbolTables(LyingElf& elf) {
  addCode(elf, 0x1000);
  const std::string names("\0PL_revision\0", 13);
  elf.file.put(0x2000, names);
  const uint32_t strings = elf.addSection(".dynstr", SHT_STRTAB, SHF_ALLOC, 0, 0x2000, names.size());
  for (int i = 0; i < 65000; i++)
    elf.addSection("", SHT_DYNSYM, SHF_ALLOC, 0, 0, 4 * kMegabyte, strings, sizeof(Elf64_Sym));
  for (int i = 0; i < 500; i++)
    elf.addSection("", SHT_RELA, SHF_ALLOC, 0, 0, 4 * kMegabyte, strings, sizeof(Elf64_Rela));
  elf.finish(3 * kMegabyte);
  elf.file.grow(8 * kMegabyte);
}

/// A million symbols whose names are all the same 16 MB without an end.
void makeEndlessNames(LyingElf& elf) {
  addCode(elf, 0x1000);
  std::string names(16 * kMegabyte - 64, 'x');
  names.replace(1, 12, std::string("g_dacTable\0\0", 12));
  std::vector<Elf64_Sym> symbols(1 << 20);
  for (size_t i = 0; i < symbols.size(); i++) symbols[i] = {static_cast<uint32_t>(16 + i), 0x12, 0, 1, kText, 16};
  elf.file.put(0x10000, names);
  elf.file.put(32 * kMegabyte, symbols);
  const uint32_t strings = elf.addSection(".dynstr", SHT_STRTAB, SHF_ALLOC, 0, 0x10000, names.size());
  elf.addSection(".dynsym", SHT_DYNSYM, SHF_ALLOC, 0, 32 * kMegabyte, symbols.size() * sizeof(Elf64_Sym), strings,
                 sizeof(Elf64_Sym));
  elf.finish(64 * kMegabyte);
}

void makeNotes(LyingElf& elf) {
  addCode(elf, 0x1000);
  for (int i = 0; i < 65000; i++) elf.addSection("", SHT_NOTE, SHF_ALLOC, 0, 8 * kMegabyte, kMegabyte);
  elf.finish(16 * kMegabyte);
}

/// A megabyte that stands for a gigabyte of entries.
void makeBomb(LyingElf& elf) {
  addCode(elf, 0x1000);
  const uint64_t plain = 1000 * kMegabyte;
  std::vector<uint8_t> zeros(kMegabyte), packed(2 * kMegabyte);
  z_stream stream = {};
  deflateInit(&stream, 9);
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  for (uint64_t done = 0; done < plain; done += zeros.size()) {
    stream.next_in = zeros.data();
    stream.avail_in = static_cast<uInt>(zeros.size());
    deflate(&stream, done + zeros.size() < plain ? Z_NO_FLUSH : Z_FINISH);
  }
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  elf.file.putValue(0x2000, Elf64_Chdr{ELFCOMPRESS_ZLIB, 0, plain, 1});
  elf.file.put(0x2000 + sizeof(Elf64_Chdr), packed);
  for (const char* name : {".eh_frame", ".debug_frame", ".gopclntab", ".gnu_debugdata"})
    elf.addSection(name, SHT_PROGBITS, SHF_ALLOC | SHF_COMPRESSED, 0x500000, 0x2000,
                   sizeof(Elf64_Chdr) + packed.size());
  elf.finish(4 * kMegabyte);
}

void number(ByteWriter& to, uint32_t value) {
  for (; value > 127; value >>= 7) to.u8((value & 127) | 128);
  to.u8(value);
}

/// The header of Go 1.20's table, whose places and descriptions follow at `table`.
ByteWriter goHeader(uint64_t functions, uint64_t values, uint64_t table) {
  ByteWriter header;
  header.u32(0xfffffff1).u16(0).u8(1).u8(8).u64(functions).u64(0).u64(kText);
  header.u64(72).u64(72).u64(72).u64(values).u64(table);
  return header;
}

void addGoTable(LyingElf& elf, const ByteWriter& header, const std::vector<uint8_t>& rest, uint64_t offset) {
  elf.file.put(offset, header.bytes);
  elf.file.put(offset + header.bytes.size(), rest);
  elf.addSection(".gopclntab", SHT_PROGBITS, SHF_ALLOC, 0x60000000, offset, header.bytes.size() + rest.size());
}

/// One function whose stack is another one at each byte of its code; the depths grow beyond all numbers.
void makeGoDepths(LyingElf& elf) {
  constexpr uint32_t kCount = 200'000;
  addCode(elf, kCount + 0x1000);
  ByteWriter rest;
  rest.text("f").u8(0);
  number(rest, 2);
  for (uint32_t i = 0; i < kCount; i++) {
    number(rest, 1);
    number(rest, i == 100'000 ? 0x7ffffff0 : 16);
  }
  rest.u8(0).u8(0);
  const uint64_t table = 72 + rest.bytes.size();
  rest.u32(0).u32(16).u32(kCount + 64).u32(0);
  rest.u32(0).u32(0).u32(0).u32(0).u32(3);
  rest.add(std::vector<uint8_t>(64));
  addGoTable(elf, goHeader(1, 72, table), rest.bytes, 16 * kMegabyte);
  elf.finish(24 * kMegabyte);
}

/// Functions that each claim all of the address space, and share one long list of depths.
void makeGoOverlaps(LyingElf& elf) {
  constexpr uint32_t kCount = 100'000, kDepths = 1'000'000;
  addCode(elf, 0x100000);
  ByteWriter rest;
  rest.text("f").u8(0);
  rest.u8(2).u8(1);
  for (uint32_t i = 0; i < kDepths; i++) rest.u8(i % 2 ? 15 : 16).u8(1);
  rest.u8(0).u8(0);
  const uint64_t table = 72 + rest.bytes.size(), descriptions = 8 * (kCount + 1);
  for (uint32_t i = 0; i <= kCount; i++) rest.u32(i % 2 ? 0xfffffff0 : 0).u32(descriptions);
  rest.u32(0).u32(0).u32(0).u32(0).u32(3);
  rest.add(std::vector<uint8_t>(64));
  addGoTable(elf, goHeader(kCount, 72, table), rest.bytes, 2 * kMegabyte);
  elf.finish(16 * kMegabyte);
}

/// Many functions that nothing calls beside many unwind entries, in an image of many segments.
void makeGoEnds(LyingElf& elf, uint32_t ends, uint32_t entries, uint32_t segments) {
  const uint64_t size = 4ULL * (ends + entries) + 0x1000;
  for (uint32_t i = 0; i < segments; i++)
    elf.addSegment(PT_LOAD, PF_R | PF_X, 0x1000, 0x7000'0000'0000 + i * 0x1000, 16);
  addCode(elf, size);
  const std::vector<uint8_t> cie = makeCie("zR", kUsualStart);
  ByteWriter frame;
  frame.add(cie);
  constexpr uint64_t kFrames = 0x10000000;
  for (uint32_t i = 0; i < entries; i++) {
    const uint64_t at = frame.bytes.size();
    frame.u32(16).u32(at + 4).u32(kText + 4ULL * (ends + i) - (kFrames + at + 8)).u32(4).u32(0);
  }
  frame.u32(0);
  ByteWriter rest;
  rest.text("f").u8(0);
  const uint64_t table = 72 + rest.bytes.size(), descriptions = 8ULL * (ends + 1);
  for (uint32_t i = 0; i <= ends; i++) rest.u32(4 * i).u32(descriptions + 44ULL * i);
  for (uint32_t i = 0; i < ends; i++)
    rest.u32(4 * i).u32(0).u32(0).u32(0).u32(0).add(std::vector<uint8_t>(21)).u8(1).u16(0);
  rest.add(std::vector<uint8_t>(64));
  const uint64_t framesAt = (size + 0x2fff) / 0x1000 * 0x1000, tableAt = framesAt + frame.bytes.size();
  elf.file.put(framesAt, frame.bytes);
  elf.addSection(".eh_frame", SHT_PROGBITS, SHF_ALLOC, kFrames, framesAt, frame.bytes.size());
  addGoTable(elf, goHeader(ends, 72, table), rest.bytes, tableAt);
  elf.finish(tableAt + 72 + rest.bytes.size());
}

/// Symbols without a size, each to be placed among many sections.
void makeSections(LyingElf& elf) {
  addCode(elf, 0x10000);
  for (int i = 0; i < 4000; i++)
    elf.addSection("", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, kText, 0x100000 + i * 16, 16);
  std::vector<Elf64_Sym> symbols(3 << 20);
  for (size_t i = 0; i < symbols.size(); i++) symbols[i] = {1, 0x12, 0, 1, kText + i % 0xf000, 0};
  elf.file.put(kMegabyte, std::string("\0f\0", 3));
  elf.file.put(2 * kMegabyte, symbols);
  const uint32_t strings = elf.addSection(".strtab", SHT_STRTAB, 0, 0, kMegabyte, 3);
  elf.addSection(".symtab", SHT_SYMTAB, 0, 0, 2 * kMegabyte, symbols.size() * sizeof(Elf64_Sym), strings,
                 sizeof(Elf64_Sym));
  elf.finish(96 * kMegabyte);
}

/// A program with writable segments to be searched, and something behind it.
void makeSegments(LyingElf& elf) {
  addCode(elf, 0x1000);
  for (int i = 0; i < 4000; i++)
    elf.addSegment(PT_LOAD, PF_R | PF_W, 0x1000, 0x10000000 + i * 0x2000000ULL, 16 * kMegabyte);
  elf.finish(0x100000);
  elf.file.grow(64 * kMegabyte);
}

/// A precompiled image: functions by the addresses of their start and of their unwind codes.
void makeImage(SparseFile& file, uint32_t size, const std::vector<std::pair<uint32_t, uint32_t>>& functions) {
  constexpr uint32_t kHeader = 0x80, kOptional = kHeader + 24, kTable = kOptional + 240;
  file.put(0, std::string("MZ"));
  file.putValue(60, kHeader);
  file.put(kHeader, std::string("PE\0\0\x64\x86\x01\0", 8));
  file.putValue(kHeader + 20, uint16_t{240});
  file.putValue(kOptional, uint16_t{0x20b});
  file.putValue(kOptional + 112 + 8 * 14, uint32_t{0x1400});
  file.put(kTable + 8, std::vector<uint32_t>{size - 0x1000, 0x1000, size - 0x1000, 0x1000});
  file.putValue(0x1400, uint32_t{72});
  file.putValue(0x1400 + 64, uint32_t{0x2000});
  const uint32_t bytes = static_cast<uint32_t>(12 * functions.size());
  file.put(0x2000, std::vector<uint32_t>{0x525452, 9, 0, 1, 102, 0x10000, bytes});
  std::vector<uint32_t> list;
  for (const auto& [start, codes] : functions) list.insert(list.end(), {start, start + 16, codes});
  file.put(0x10000, list);
  file.grow(size);
}

/// Two functions whose unwind codes are at both ends.
void makeFarCodes(SparseFile& file) { makeImage(file, 511 * kMegabyte, {{0x5000, 0x6000}, {0x5020, 510 * kMegabyte}}); }

/// Functions of which each has the longest codes that there are, all of them overlapping.
void makeManyCodes(SparseFile& file) {
  std::vector<std::pair<uint32_t, uint32_t>> functions;
  constexpr uint32_t kCodes = 128 * kMegabyte;
  for (uint32_t i = 0; i < 2'000'000; i++) functions.emplace_back(64 * kMegabyte + 16 * i, kCodes + 4 * i);
  makeImage(file, 160 * kMegabyte, functions);
  std::vector<uint8_t> codes(16 * kMegabyte);
  for (size_t i = 0; i < codes.size(); i += 4) memcpy(&codes[i], "\x01\x10\xff\x02", 4);
  file.put(kCodes, codes);
}

struct Case {
  const char* name;
  uint64_t megabytes;  ///< that reading it may take
  std::function<void(LyingElf&)> make;
};

/// Runs a case in a child and says whether it kept to its limits.
bool keepsItsLimits(const Case& it) {
  LyingElf made;
  it.make(made);
  malloc_trim(0);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit memory = {it.megabytes * kMegabyte, it.megabytes * kMegabyte}, time = {kSeconds, kSeconds + 1};
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CPU, &time);
    readAll(made.file);
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  rusage usage = {};
  wait4(child, &status, 0, &usage);
  const bool isGood = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  std::printf("%s %s: %ld MB, %ld ms\n", isGood ? "ok" : "FAILED", it.name, usage.ru_maxrss / 1024,
              usage.ru_utime.tv_sec * 1000 + usage.ru_utime.tv_usec / 1000);
  return isGood;
}

/// Code that counts a register down and returns, where the files of this program have theirs.
constexpr uint8_t kSpin[] = {0xff, 0xcf, 0x75, 0xfc, 0xc3};

/// Writes a case as a file that can be run.
void writeFile(const Case& it, const std::string& path, uint64_t code) {
  LyingElf made(path);
  it.make(made);
  made.file.put(code, std::vector<uint8_t>(std::begin(kSpin), std::end(kSpin)));
}

}  // namespace

int main(int argc, char** argv) {
  const Case cases[] = {
      {"65,000 tables of symbols", 128, makeSymbolTables},
      {"names without an end", 128, makeEndlessNames},
      {"65,000 notes", 128, makeNotes},
      {"a gigabyte in a megabyte", 128, makeBomb},
      {"Go: a depth for each byte", 128, makeGoDepths},
      {"Go: functions over each other", 256, makeGoOverlaps},
      {"Go: ends beside entries", 256, [](LyingElf& elf) { makeGoEnds(elf, 230'000, 400'000, 0); }},
      {"code in 4,000 segments", 256, [](LyingElf& elf) { makeGoEnds(elf, 200'000, 300'000, 4000); }},
      {"symbols in 4,000 sections", 256, makeSections},
      {"4,000 writable segments", 256, makeSegments},
      {"unwind codes far apart", 128, [](LyingElf& elf) { makeFarCodes(elf.file); }},
      {"long unwind codes over each other", 300, [](LyingElf& elf) { makeManyCodes(elf.file); }},
  };
  if (argc == 3 && strcmp(argv[1], "write") == 0) {
    for (size_t i = 0; i < std::size(cases); i++) {
      // The last two are images.
      const uint64_t code = i + 2 < std::size(cases) ? 0x1000 : 0x5000;
      writeFile(cases[i], std::string(argv[2]) + "/" + std::to_string(i), code);
    }
    return 0;
  }
  int failed = 0;
  for (const Case& it : cases) failed += keepsItsLimits(it) ? 0 : 1;
  std::printf("%zu files, %d failed\n", std::size(cases), failed);
  return failed == 0 ? 0 : 1;
}
