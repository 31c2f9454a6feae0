// SPDX-License-Identifier: Apache-2.0
//
// Made files with known answers for ElfImage and buildUnwindTable; exits with 1 if a check failed.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <chrono>
#include <cstdio>

#include "check.h"
#include "elf_maker.h"
#include "mapped/vdso.h"
#include "table_search.h"
#include "unwind/unwind_table.h"
#include "util/file_descriptor.h"

namespace {

using namespace polytop;

struct Built {
  UnwindTable table;
  std::vector<unwind_rule> rules;
  double seconds = 0;

  unwind_rule at(uint64_t offset) const { return rules[ruleAt(table, offset)]; }
};

Built build(const std::vector<uint8_t>& file) {
  Built built;
  RuleSet rules;
  std::string error;
  const auto start = std::chrono::steady_clock::now();
  const auto image = ElfImage::openMemory(file.data(), file.size(), error);
  if (image != nullptr) built.table = buildUnwindTable(*image, rules);
  built.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  built.rules = rules.all();
  built.table.lease = {};  // the set ends here
  return built;
}

unwind_rule makeRule(int cfa, int64_t cfaOffset, int rbp, int64_t rbpOffset, int64_t returnAddress,
                     int inRegister = 0) {
  unwind_rule rule{};
  rule.cfa = static_cast<uint8_t>(cfa);
  rule.cfa_offset = static_cast<int32_t>(cfaOffset);
  rule.fp = static_cast<uint8_t>(rbp);
  rule.fp_offset = static_cast<int32_t>(rbpOffset);
  rule.ra_offset = static_cast<int16_t>(returnAddress);
  rule.ra_register = static_cast<uint8_t>(inRegister);
  return rule;
}

const unwind_rule kPlain = makeRule(CFA_SP, 8, FP_SAME, 0, -8);

void checkProgram(const char* what, const Program& program, uint64_t inside, const unwind_rule& expected,
                  const char* augmentation = "zR", const Program& initial = kUsualStart) {
  const Built built = build(makeElf(oneFunction(program, augmentation, initial)));
  unwind_rule got = built.at(kCodeOffset + inside);
  // All rules of a small file tell the base: it is looked at where the answer says it.
  if (expected.base == BASE_UNKNOWN) got.base = BASE_UNKNOWN;
  check(sameRule(got, expected), what);
  if (!sameRule(got, expected)) {
    std::printf("  cfa %d %d+%d reg %d rbp %d %d ra %d; %s\n", got.cfa, got.cfa_offset, got.cfa_addend,
                got.cfa_register, got.fp, got.fp_offset, got.ra_offset, built.table.warning.c_str());
  }
}

void testPrograms() {
  checkProgram("no instruction: the CIE's row", {}, 0, kPlain);
  checkProgram("push rbp", {0x41, 0x0e, 16, 0x86, 2}, 1, makeRule(CFA_SP, 16, FP_CFA, -16, -8));
  checkProgram("row before the push", {0x41, 0x0e, 16, 0x86, 2}, 0, kPlain);
  checkProgram("advance_loc1, 2, 4", {0x02, 4, 0x0e, 16, 0x03, 4, 0, 0x0e, 24, 0x04, 4, 0, 0, 0, 0x0e, 32}, 12,
               makeRule(CFA_SP, 32, FP_SAME, 0, -8));
  checkProgram("def_cfa_register", {0x0d, 6, 0x0e, 16}, 0, makeRule(CFA_FP, 16, FP_SAME, 0, -8));
  checkProgram("remember and restore", {0x0a, 0x0e, 16, 0x86, 2, 0x44, 0x0b}, 4, kPlain);
  checkProgram("restore rbp", {0x86, 2, 0x44, 0xc6}, 4, kPlain);
  checkProgram("restore_extended", {0x86, 2, 0x44, 0x06, 6}, 4, kPlain);
  checkProgram("offset_extended_sf", {0x11, 16, 17}, 0, makeRule(CFA_SP, 8, FP_SAME, 0, -136));
  checkProgram("def_cfa_sf", {0x12, 7, 0x7e}, 0, makeRule(CFA_SP, 16, FP_SAME, 0, -8));
  checkProgram("GNU_args_size is no matter", {0x2e, 0x20}, 0, kPlain);
  checkProgram("undefined return address", {0x07, 16}, 0, makeRule(CFA_END, 0, 0, 0, 0));
  checkProgram("undefined rbp", {0x07, 6}, 0, makeRule(CFA_SP, 8, FP_UNDEFINED, 0, -8));
  checkProgram("rbp in a register", {0x09, 6, 9}, 0, makeRule(CFA_SP, 8, FP_UNDEFINED, 0, -8));
  checkProgram("return address in a register", {0x09, 16, 1}, 0, makeRule(CFA_SP, 8, FP_SAME, 0, 0, 1 + 1));
  checkProgram("rsp in a register", {0x09, 7, 8}, 0, makeRule(CFA_UNSUPPORTED, 0, 0, 0, 0));
  unwind_rule other = makeRule(CFA_REGISTER, 0, FP_SAME, 0, -8);
  other.cfa_register = 10;
  checkProgram("CFA by r10", {0x0c, 10, 0}, 0, other);
  unwind_rule base = makeRule(CFA_BASE, 16, FP_SAME, 0, -8);
  base.base = 3;
  checkProgram("CFA by rbx, which is saved", {0x0e, 24, 0x83, 3, 0x44, 0x0c, 3, 16}, 4, base);
  checkProgram("CFA by a vector register", {0x0c, 17, 0}, 0, makeRule(CFA_UNSUPPORTED, 0, 0, 0, 0));
  checkProgram("PLT", {0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, 0,
               makeRule(CFA_PLT, 11, FP_SAME, 0, -8));
  checkProgram("stack realignment", {0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0}, 0,
               makeRule(CFA_DEREF_FP, -8, FP_DEREF_FP, 0, -8));
  checkProgram("rbp as a value", {0x16, 6, 3, 0x76, 0x70, 0x06}, 0, makeRule(CFA_SP, 8, FP_DEREF_FP, -16, -8));
  unwind_rule deref = makeRule(CFA_DEREF_SP, 152, FP_SAME, 0, -8);
  deref.cfa_addend = 8;
  checkProgram("assembly that saves rsp", {0x0f, 6, 0x77, 0x98, 1, 0x06, 0x23, 8}, 0, deref);
  checkProgram("the same with lit8, plus", {0x0f, 6, 0x77, 0x98, 1, 0x06, 0x38, 0x22}, 0, deref);
  deref.cfa = CFA_DEREF_BASE;
  deref.base = BASE_SAME;
  checkProgram("a stack that rbx leads to", {0x0f, 6, 0x73, 0x98, 1, 0x06, 0x23, 8}, 0, deref);
  unwind_rule twice = makeRule(CFA_DEREF_TWICE, 56, FP_SAME, 0, -8);
  twice.cfa_register = 16;
  twice.cfa_addend = 8;
  checkProgram("a stack that OCaml's handler leads to", {0x0f, 8, 0x77, 56, 0x06, 0x23, 16, 0x06, 0x23, 8}, 0, twice);
  checkProgram("three loads", {0x0f, 6, 0x77, 56, 0x06, 0x06, 0x06, 0x96}, 0, makeRule(CFA_UNSUPPORTED, 0, 0, 0, 0));
  checkProgram("an expression of two registers", {0x0f, 5, 0x77, 8, 0x70, 0, 0x22}, 0,
               makeRule(CFA_UNSUPPORTED, 0, 0, 0, 0));
  checkProgram("def_cfa_offset after an expression", {0x0f, 3, 0x76, 0x78, 0x06, 0x0e, 8}, 0,
               makeRule(CFA_UNSUPPORTED, 0, 0, 0, 0));
  checkProgram("offset beyond 32 bits", {0x0e, 0x80, 0x80, 0x80, 0x80, 0x10}, 0, makeRule(CFA_UNSUPPORTED, 0, 0, 0, 0));
  checkProgram("unknown instruction, row before", {0x44, 0x3f}, 0, kPlain);
  checkProgram("unknown instruction, from there", {0x44, 0x3f}, 4, makeRule(CFA_UNSUPPORTED, 0, 0, 0, 0));
  checkProgram("restore_state without remember_state", {0x0b}, 0, makeRule(CFA_UNSUPPORTED, 0, 0, 0, 0));
  checkProgram("cut operand", {0x0e, 0x80}, 0, makeRule(CFA_UNSUPPORTED, 0, 0, 0, 0));
  checkProgram("endless remember_state", Program(1000, 0x0a), 0, makeRule(CFA_UNSUPPORTED, 0, 0, 0, 0));

  // glibc's __restore_rt: rsp at 160, rbp at 120, rip at 168 of the ucontext, which starts at rsp.
  const Program signal = {0x0f, 4, 0x77, 0xa0, 1,    0x06, 0x10, 6,  3, 0x77, 0xf8, 0,
                          0x10, 7, 3,    0x77, 0xa0, 1,    0x10, 16, 3, 0x77, 0xa8, 1};
  checkProgram("signal frame", signal, 0, makeRule(CFA_SIGNAL, 0, 0, 0, 0), "zRS", {});
  Program wrong = signal;
  wrong[wrong.size() - 2] = 0xb0;
  checkProgram("signal frame with another rip", wrong, 0, makeRule(CFA_UNSUPPORTED, 0, 0, 0, 0), "zRS", {});
}

void testTable() {
  // Three functions: a gap of 8 (padding), a hole of 0x2000 with the entry point in it.
  ElfParts parts;
  parts.frame = makeCie("zR", kUsualStart);
  const auto add = [&parts](uint64_t address, uint32_t size, const Program& program) {
    const std::vector<uint8_t> fde = makeFde(parts.frame.size(), 0, kCodeAddress + address, size, program);
    parts.frame.insert(parts.frame.end(), fde.begin(), fde.end());
  };
  add(0x2100, 0x10, {});
  add(0x40, 0x80, {0x0e, 16});
  add(0, 0x38, {});
  parts.entry = kCodeAddress + 0x1000;
  Built built = build(makeElf(parts));
  const UnwindTable& table = built.table;
  const std::vector<uint64_t> starts = {kCodeOffset,          kCodeOffset + 0x40,   kCodeOffset + 0xc0,
                                        kCodeOffset + 0x1000, kCodeOffset + 0x2100, kCodeOffset + 0x2110};
  check(table.starts == starts, "starts: functions, holes and the entry point");
  check(table.fdeCount == 3 && table.source == ".eh_frame" && table.warning.empty(), "source and counts");
  check(built.at(kCodeOffset + 0x3f).cfa == CFA_SP, "padding keeps the rule before it");
  check(built.at(kCodeOffset + 0x40).cfa_offset == 16, "second function");
  check(built.at(kCodeOffset + 0xc0).cfa == CFA_NONE, "hole");
  check(built.at(kCodeOffset + 0x1000).cfa == CFA_END, "entry point without an FDE");
  check(built.at(kCodeOffset + 0x1080).cfa == CFA_NONE, "behind the entry point");
  check(built.at(kCodeOffset + 0x2110).cfa == CFA_NONE, "behind the last function");
  check(startAt(table, kCodeOffset + 0x50) == kCodeOffset + 0x40, "start of a function");
  check(!startAt(table, kCodeOffset - 1), "before all functions");

  // The function that a program begins in has no caller, whatever its rules say; a library begins nowhere.
  parts.entry = kCodeAddress + 0x40;
  std::vector<uint8_t> program = makeElf(parts);
  check(build(program).at(kCodeOffset + 0x41).cfa_offset == 16, "entry point of a library");
  program[offsetof(Elf64_Ehdr, e_type)] = ET_EXEC;
  check(build(program).at(kCodeOffset + 0x41).cfa == CFA_END, "entry point of a program");

  // A function over three pages: each page starts with a row of its own.
  ElfParts large = oneFunction({0x0e, 16});
  large.frame = makeCie("zR", kUsualStart);
  const std::vector<uint8_t> fde = makeFde(large.frame.size(), 0, kCodeAddress + 0x10, 0x2000, {0x0e, 16});
  large.frame.insert(large.frame.end(), fde.begin(), fde.end());
  built = build(makeElf(large));
  check(built.table.pages.size() == 3 && built.table.rows.size() == 5, "carried rows");
  check(built.at(kCodeOffset + 0x1000).cfa_offset == 16, "rule at the start of the second page");

  // Overlap: the later start wins up to where it ends.
  ElfParts overlap;
  overlap.frame = makeCie("zR", kUsualStart);
  for (const auto& [address, size] : {std::pair<uint64_t, uint32_t>{0, 0x1000}, {0x100, 0x40}}) {
    const Program program = {0x0e, static_cast<uint8_t>(size == 0x40 ? 32 : 16)};
    const std::vector<uint8_t> more = makeFde(overlap.frame.size(), 0, kCodeAddress + address, size, program);
    overlap.frame.insert(overlap.frame.end(), more.begin(), more.end());
  }
  built = build(makeElf(overlap));
  check(built.at(kCodeOffset + 0xff).cfa_offset == 16 && built.at(kCodeOffset + 0x100).cfa_offset == 32, "overlap");
}

void testSources() {
  // PT_GNU_EH_FRAME with its table, no section headers.
  ElfParts parts = oneFunction({0x0e, 16});
  parts.name.clear();
  const uint64_t cieSize = makeCie("zR", kUsualStart).size();
  const uint64_t headerAddress = kFrameAddress + parts.frame.size();
  const auto header = [&](uint32_t count, uint8_t tableEncoding) {
    ByteWriter bytes;
    bytes.u8(1).u8(0x1b).u8(0x03).u8(tableEncoding).u32(kFrameAddress - (headerAddress + 4)).u32(count);
    return bytes.u32(kCodeAddress - headerAddress).u32(kFrameAddress + cieSize - headerAddress).bytes;
  };
  parts.header = header(1, 0x3b);
  Built built = build(makeElf(parts));
  check(built.table.source == "PT_GNU_EH_FRAME" && built.at(kCodeOffset).cfa_offset == 16, "by the search table");
  parts.header = header(0xffffffff, 0x3b);
  built = build(makeElf(parts));
  check(built.table.fdeCount == 1, "a table that claims 4 billion entries");
  parts.header = header(1, 0xff);
  built = build(makeElf(parts));
  check(built.table.fdeCount == 1, "without a search table");

  // .debug_frame, 32 and 64 bits, plain and compressed.
  for (const bool is64 : {false, true}) {
    ByteWriter cie;
    if (is64) {
      cie.u64(~0ULL);
    } else {
      cie.u32(0xffffffff);
    }
    cie.u8(4).text("").u8(8).u8(0).u8(1).u8(0x78).u8(16).add(kUsualStart);
    ByteWriter fde;
    if (is64) {
      fde.u64(0);
    } else {
      fde.u32(0);
    }
    fde.u64(kCodeAddress).u64(64).u8(0x0e).u8(16);
    ByteWriter frame;
    for (const ByteWriter* entry : {&cie, &fde}) {
      if (is64) frame.u32(0xffffffff).u64(entry->bytes.size());
      if (!is64) frame.u32(entry->bytes.size());
      frame.add(entry->bytes);
    }
    ElfParts debug;
    debug.name = ".debug_frame";
    debug.frame = frame.bytes;
    built = build(makeElf(debug));
    check(built.table.source == ".debug_frame" && built.at(kCodeOffset).cfa_offset == 16, ".debug_frame");

    std::vector<uint8_t> packed(compressBound(frame.bytes.size()));
    uLongf size = packed.size();
    compress(packed.data(), &size, frame.bytes.data(), frame.bytes.size());
    packed.resize(size);
    debug.frameFlags = SHF_COMPRESSED;
    debug.frame = ByteWriter().u32(ELFCOMPRESS_ZLIB).u32(0).u64(frame.bytes.size()).u64(1).add(packed).bytes;
    built = build(makeElf(debug));
    check(built.table.fdeCount == 1, "compressed .debug_frame");
    debug.frame = ByteWriter().u32(ELFCOMPRESS_ZLIB).u32(0).u64(1ULL << 40).u64(1).add(packed).bytes;
    check(build(makeElf(debug)).table.source.empty(), "a compressed section that claims a terabyte");
  }
  ElfParts none;
  none.name = ".text";
  built = build(makeElf(none));
  check(built.table.source.empty() && built.table.rows.empty(), "no unwind information");
}

void testHostile() {
  ElfParts parts;
  parts.frame.assign(1 << 20, 0);
  Built built = build(makeElf(parts));
  check(built.table.rows.empty() && built.seconds < 2, "a megabyte of terminators");

  parts = oneFunction({});
  parts.frame[0] = 0xff;
  parts.frame[1] = 0xff;
  built = build(makeElf(parts));
  check(built.table.source.empty(), "a length beyond the section");

  parts = oneFunction({});
  const uint64_t fdeAt = makeCie("zR", kUsualStart).size();
  for (const uint32_t pointer : {0xfffffff0U, 0x7fffffffU, 4U, 1U}) {
    std::memcpy(parts.frame.data() + fdeAt + 4, &pointer, 4);
    check(build(makeElf(parts)).table.source.empty(), "a CIE pointer to nowhere");
  }

  check(build(makeElf(oneFunction({}, "zR", {0x41}))).table.source.empty(), "a CIE that moves on");
  check(build(makeElf(oneFunction({}, "xR"))).table.source.empty(), "an unknown augmentation");

  // FDEs that overlap in the section, each to its end: must not take the square of its size.
  parts = ElfParts();
  parts.frame = makeCie("zR", kUsualStart);
  const uint64_t cieSize = parts.frame.size();
  constexpr uint32_t kEntries = 40000;
  for (uint32_t i = 0; i < kEntries; i++) {
    const uint64_t at = parts.frame.size();
    ByteWriter entry;
    const uint64_t end = cieSize + uint64_t{kEntries} * 17;
    entry.u32(end - at - 4).u32(at + 4).u32(kCodeAddress + i % kCodeSize - (kFrameAddress + at + 8)).u32(64).u8(0);
    parts.frame.insert(parts.frame.end(), entry.bytes.begin(), entry.bytes.end());
  }
  const uint64_t headerAddress = kFrameAddress + parts.frame.size();
  ByteWriter header;
  header.u8(1).u8(0x1b).u8(0x03).u8(0x3b).u32(kFrameAddress - (headerAddress + 4)).u32(kEntries);
  for (uint32_t i = 0; i < kEntries; i++) header.u32(0).u32(kFrameAddress + cieSize + i * 17 - headerAddress);
  parts.header = header.bytes;
  parts.name.clear();
  built = build(makeElf(parts));
  check(built.seconds < 2, "overlapping entries");

  // As many CIEs as FDEs.
  parts = ElfParts();
  for (uint32_t i = 0; i < 100000; i++) {
    const uint64_t cie = parts.frame.size();
    for (const bool isCie : {true, false}) {
      const std::vector<uint8_t> entry =
          isCie ? makeCie("zR", kUsualStart) : makeFde(parts.frame.size(), cie, kCodeAddress + i % kCodeSize, 1, {});
      parts.frame.insert(parts.frame.end(), entry.begin(), entry.end());
    }
  }
  built = build(makeElf(parts));
  check(built.seconds < 2 && built.table.warning.find("entries skipped") != std::string::npos, "too many CIEs");

  // More rules than one file may have.
  Program flood;
  for (uint32_t i = 0; i < 5000; i++) {
    const uint32_t offset = 16 + i * 8;
    for (const uint32_t byte : {0x41U, 0x0eU, (offset & 0x7f) | 0x80, ((offset >> 7) & 0x7f) | 0x80, offset >> 14}) {
      flood.push_back(static_cast<uint8_t>(byte));
    }
  }
  parts = ElfParts();
  parts.frame = makeCie("zR", kUsualStart);
  const std::vector<uint8_t> fde = makeFde(parts.frame.size(), 0, kCodeAddress, 0x2000, flood);
  parts.frame.insert(parts.frame.end(), fde.begin(), fde.end());
  built = build(makeElf(parts));
  check(built.rules.size() < 3000 && built.at(kCodeOffset + 4999).cfa == CFA_UNSUPPORTED, "too many rules in a file");
  check(built.table.warning.find("too many rules") != std::string::npos, "says that there were too many rules");

  // Truncation at every place of the headers, and at some of the rest.
  const std::vector<uint8_t> whole = makeElf(oneFunction({0x0e, 16}));
  for (size_t size = 0; size < whole.size(); size += size < 512 ? 1 : 61) {
    build(std::vector<uint8_t>(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)));
  }
}

void testFiles() {
  std::string error;
  for (const char* path : {"/dev/null", "/dev/zero", "/proc/self", "/"}) {
    const FileDescriptor file(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    check(file.valid() && ElfImage::open(file.get(), error) == nullptr && error == "not a regular file", path);
  }
  int ends[2];
  check(pipe(ends) == 0, "pipe");
  const FileDescriptor reader(ends[0]), writer(ends[1]);
  check(ElfImage::open(ends[0], error) == nullptr, "FIFO");
  check(ElfImage::open(-1, error) == nullptr, "no descriptor");

  // A function that claims a terabyte, in a sparse file of that size.
  const FileDescriptor sparse(memfd_create("sparse", MFD_CLOEXEC));
  const int fd = sparse.get();
  ElfParts parts;
  parts.codeSize = 1ULL << 40;
  parts.frame = makeCie("zR", kUsualStart, 0x1c);
  ByteWriter entry;
  const uint64_t at = parts.frame.size();
  entry.u32(21 + 8).u32(at + 4).u64(kCodeAddress - (kFrameAddress + at + 8)).u64(1ULL << 39).u8(0).u64(0);
  parts.frame.insert(parts.frame.end(), entry.bytes.begin(), entry.bytes.end());
  const std::vector<uint8_t> file = makeElf(parts);
  check(fd >= 0 && pwrite(fd, file.data(), file.size(), 0) == static_cast<ssize_t>(file.size()), "write");
  check(ftruncate(fd, 1LL << 40) == 0, "sparse file");
  RuleSet rules;
  const auto image = ElfImage::open(fd, error);
  check(image != nullptr, "sparse file opens");
  if (image) {
    const UnwindTable table = buildUnwindTable(*image, rules);
    check(table.fdeCount == 1 && table.pages.size() <= MAX_PAGES, "a function of a terabyte");
    check(ftruncate(fd, 0) == 0, "truncate");
    check(buildUnwindTable(*image, rules).rows.empty(), "a file that was truncated after it was opened");
    check(image->read(0, 64).empty() && image->readString(0).empty(), "reading what is gone");
  }
}

void testVdso() {
  RuleSet rules;
  std::string error;
  const std::span<const uint8_t> vdso = findVdso();
  const auto image = ElfImage::openMemory(vdso.data(), vdso.size(), error);
  check(image != nullptr && image->section(".dynsym") != nullptr && !buildUnwindTable(*image, rules).rows.empty(),
        "vDSO");
}

}  // namespace

int main() {
  testPrograms();
  testTable();
  testSources();
  testHostile();
  testFiles();
  testVdso();
  return reportChecks();
}
