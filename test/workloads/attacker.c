// SPDX-License-Identifier: Apache-2.0
// attacker: what a user may do to a profiler of the machine with nothing but files and processes of his own.
//   code FILE OFFSET        maps the file for execution, and runs its code at the offset (hexadecimal) again and again
//   touch FILE OFFSET       the same, and changes the time of the file all the while
//   names FILE COUNT        makes a file of so many functions with names of 512 characters, each of which calls the
//                           next one, and runs through all of them
//   many FOLDER COUNT       makes so many small programs, no two alike, and runs the code of each in turn, a
//   millisecond map BYTES               appends lines to the perf map of its process up to so many, and runs code that
//   it made
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef void (*code)(unsigned);

static const uint8_t kSpin[] = {0xff, 0xcf, 0x75, 0xfc, 0xc3};  // 1: dec %edi; jnz 1b; ret

static void* mapCode(const char* path, uint64_t offset, uint64_t size) {
  int fd = open(path, O_RDONLY);
  void* map = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)offset);

  if (fd < 0 || map == MAP_FAILED) {
    perror(path);
    exit(1);
  }
  close(fd);
  return map;
}

static void runCode(const char* path, uint64_t offset, int touches) {
  uint64_t page = offset & ~0xfffULL;
  code run = (code)((uint8_t*)mapCode(path, page, 0x1000) + (offset - page));

  for (;;) {
    run(20000000);
    if (touches) utimensat(AT_FDCWD, path, NULL, 0);
  }
}

#define BLOCK 64
#define CODE_OFFSET 0x1000
#define ADDRESS 0x401000
#define DEPTH 100
#define TEXT 1024

// push %rbp; mov %rsp,%rbp; dec %edi; jz 1f; call (the next block); pop %rbp; ret;
// 1: mov $0x4000,%ecx; 2: dec %ecx; jnz 2b; pop %rbp; ret
static const uint8_t kChain[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xcf, 0x74, 0x07, 0xe8, 0x33, 0,    0,    0,
                                 0x5d, 0xc3, 0xb9, 0,    0x40, 0,    0,    0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};

static void putAt(int fd, uint64_t at, const void* from, size_t size) {
  if (pwrite(fd, from, size, (off_t)at) != (ssize_t)size) exit(1);
}

static void makeNames(const char* path, uint64_t count) {
  uint64_t symbols = CODE_OFFSET + BLOCK * count, strings = symbols + count * sizeof(Elf64_Sym);
  uint64_t text = 4 * count + TEXT, headers = (strings + text + 64) & ~63ULL;
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);
  uint8_t* blocks = calloc(count + 1, BLOCK);
  char* letters = malloc(text);
  Elf64_Sym* table = calloc(count, sizeof *table);
  Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}};
  Elf64_Phdr segment = {PT_LOAD, PF_R | PF_X, CODE_OFFSET, ADDRESS, ADDRESS, BLOCK * count, BLOCK * count, 4096};
  Elf64_Shdr sections[4] = {{0}};

  for (uint64_t i = 0; i < text; i++) letters[i] = (char)('a' + random() % 26);
  letters[0] = letters[text - 1] = 0;
  for (uint64_t i = 0; i < count; i++) {
    memcpy(blocks + BLOCK * i, kChain, sizeof kChain);
    table[i] = (Elf64_Sym){(Elf64_Word)(1 + 4 * i), 0x12, 0, 1, ADDRESS + BLOCK * i, BLOCK};
  }
  head.e_type = ET_DYN;
  head.e_machine = EM_X86_64;
  head.e_version = EV_CURRENT;
  head.e_phoff = sizeof head;
  head.e_shoff = headers;
  head.e_ehsize = sizeof head;
  head.e_phentsize = sizeof segment;
  head.e_phnum = 1;
  head.e_shentsize = sizeof *sections;
  head.e_shnum = 4;
  head.e_shstrndx = 3;
  sections[1] =
      (Elf64_Shdr){0, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, ADDRESS, CODE_OFFSET, BLOCK * count, 0, 0, 1, 0};
  sections[2] = (Elf64_Shdr){0, SHT_SYMTAB, 0, 0, symbols, count * sizeof *table, 3, 0, 8, sizeof *table};
  sections[3] = (Elf64_Shdr){0, SHT_STRTAB, 0, 0, strings, text, 0, 0, 1, 0};
  putAt(fd, 0, &head, sizeof head);
  putAt(fd, sizeof head, &segment, sizeof segment);
  putAt(fd, CODE_OFFSET, blocks, BLOCK * count);
  putAt(fd, symbols, table, count * sizeof *table);
  putAt(fd, strings, letters, text);
  putAt(fd, headers, sections, sizeof sections);
  close(fd);
}

static void runNames(const char* path, uint64_t count) {
  uint8_t* blocks;

  makeNames(path, count);
  blocks = mapCode(path, CODE_OFFSET, BLOCK * count);
  for (;;) {
    for (uint64_t i = 0; i + DEPTH < count; i += 5) ((code)(blocks + BLOCK * i))(DEPTH);
  }
}

/// What a small program holds: headers, a function with a name, and the number that tells it from the others.
struct small {
  Elf64_Ehdr head;
  Elf64_Phdr segment;
  Elf64_Shdr sections[4];
  Elf64_Sym symbol;
  char names[32];
  uint64_t number;
};

static void writeSmall(const char* path, uint64_t number) {
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);
  struct small it = {
      .head = {{0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, ET_DYN, EM_X86_64, EV_CURRENT},
      .segment = {PT_LOAD, PF_R | PF_X, CODE_OFFSET, ADDRESS, ADDRESS, 64, 64, 4096},
      .symbol = {1, 0x12, 0, 1, ADDRESS, 64},
      .number = number,
  };

  it.head.e_phoff = offsetof(struct small, segment);
  it.head.e_shoff = offsetof(struct small, sections);
  it.head.e_ehsize = sizeof it.head;
  it.head.e_phentsize = sizeof it.segment;
  it.head.e_phnum = 1;
  it.head.e_shentsize = sizeof *it.sections;
  it.head.e_shnum = 4;
  it.head.e_shstrndx = 3;
  it.sections[1] = (Elf64_Shdr){0, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, ADDRESS, CODE_OFFSET, 64, 0, 0, 1, 0};
  it.sections[2] =
      (Elf64_Shdr){0, SHT_SYMTAB, 0, 0, offsetof(struct small, symbol), sizeof it.symbol, 3, 0, 8, sizeof it.symbol};
  it.sections[3] = (Elf64_Shdr){0, SHT_STRTAB, 0, 0, offsetof(struct small, names), sizeof it.names, 0, 0, 1, 0};
  snprintf(it.names + 1, sizeof it.names - 1, "small%lu", (unsigned long)number);
  putAt(fd, 0, &it, sizeof it);
  putAt(fd, CODE_OFFSET, kSpin, sizeof kSpin);
  close(fd);
}

static void runMany(const char* folder, uint64_t count) {
  char path[4096];

  for (uint64_t i = 0;; i = (i + 1) % count) {
    void* map;

    snprintf(path, sizeof path, "%s/small%lu", folder, (unsigned long)i);
    if (access(path, F_OK) != 0) writeSmall(path, i);
    map = mapCode(path, CODE_OFFSET, 0x1000);
    ((code)map)(3000000);
    munmap(map, 0x1000);
  }
}

static void runMap(uint64_t bytes) {
  char path[64];
  FILE* file;
  uint8_t* page = mmap(NULL, 0x1000, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  memcpy(page, kSpin, sizeof kSpin);
  snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
  file = fopen(path, "w");
  if (!file) exit(1);
  for (uint64_t i = 0, written = 0; written < bytes; i++)
    written +=
        (uint64_t)fprintf(file, "%lx 40 made_%lu_of_a_process_that_writes_much\n", (long)page + 64 * (i % 40), i);
  fclose(file);
  for (;;) ((code)page)(20000000);
}

int main(int argc, char** argv) {
  int isOffset = argc > 2 && (!strcmp(argv[1], "code") || !strcmp(argv[1], "touch"));
  uint64_t number = argc > 2 ? strtoull(argv[argc - 1], NULL, isOffset ? 16 : 10) : 0;

  if (argc == 4 && !strcmp(argv[1], "names")) runNames(argv[2], number);
  if (argc == 4 && !strcmp(argv[1], "many")) runMany(argv[2], number);
  if (argc == 4) runCode(argv[2], number, !strcmp(argv[1], "touch"));
  if (argc == 3 && !strcmp(argv[1], "map")) runMap(number);
  fprintf(stderr, "usage: attacker code|touch|names|many FILE NUMBER, attacker map BYTES\n");
  return 2;
}
