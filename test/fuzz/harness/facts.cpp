// SPDX-License-Identifier: Apache-2.0
//
// An ELF file as it comes: its headers, what the readers of runtimes look for in it, what it needs and can be probed
// at.
#include "dotnet/dotnet_file.h"
#include "elf/elf_image.h"
#include "elf/needed_files.h"
#include "harness.h"
#include "perl/perl_file.h"
#include "probes/find_probes.h"
#include "python/python_file.h"
#include "util/budget.h"
#include "v8/v8_file.h"

namespace polytop::fuzz {

namespace {

void readAll(const ElfImage& image) {
  image.buildId();
  for (const Section& section : image.sections()) {
    image.lastByte(section);
    if (section.flags & SHF_COMPRESSED) image.content(section);
    uint64_t address = 0, offset = 0;
    if (image.offsetToAddress(section.offset, address) && image.addressToOffset(address, offset))
      image.readString(offset, 64);
  }
  if (const auto perl = readPerlFile(image)) mustHold(perl->opNames.size() <= PERL_OPS, "op names have room");
  readPythonFile(image);
  findDotnetRuntime(image);
  readV8File(image);
  NeededFiles again;
  mustHold(decodeNeeded(encodeNeeded(readNeededFiles(image)), again), "what is written can be read");
  findStaticProbes(image);
  findFunctions(image, nullptr, true);
}

}  // namespace

void tryFacts(Input input) {
  std::string error;
  const std::vector<uint8_t> bytes(input.begin(), input.end());  // so that the first byte behind it is seen
  const auto image = ElfImage::openMemory(bytes.data(), bytes.size(), error);
  mustHold(image || !error.empty(), "a file that is refused has a reason");
  if (!image) return;
  try {
    readAll(*image);
  } catch (const Overspent&) {
    // A file that takes too much is refused.
  }
}

}  // namespace polytop::fuzz
