// SPDX-License-Identifier: Apache-2.0
#include "elf/packed_section.h"

#include <elf.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>

namespace polytop {
namespace {

constexpr uint64_t kMaxSize = 1ULL << 30;
// What no stream expands to is a lie. Deflate: 1032 : 1. Of zstd a block of 128 KB takes four bytes at least.
constexpr uint64_t kMaxInflated = 1040, kMaxZstd = (128 << 10) / 4 + 1;
constexpr size_t kInflateBlock = 64 << 10;
constexpr char kGnuMagic[] = {'Z', 'L', 'I', 'B'};

// include/elf.h of glibc has it from 2.36 on.
constexpr uint32_t kZstdType = 2;

using Method = PackedHeader::Method;

/// Whether a section of so many bytes may hold as many as it says.
bool isPlausible(const PackedHeader& header, size_t bytes) {
  if (header.method == Method::kUnknown || header.size > kMaxSize || bytes < header.begin) return false;
  return header.size / (header.method == Method::kZstd ? kMaxZstd : kMaxInflated) <= bytes - header.begin;
}

}  // namespace

PackedHeader readPackedHeader(const std::vector<uint8_t>& bytes, SectionForm form) {
  PackedHeader read;
  if (form == SectionForm::kGnu) {
    read.begin = sizeof kGnuMagic + sizeof(uint64_t);
    if (bytes.size() < read.begin || std::memcmp(bytes.data(), kGnuMagic, sizeof kGnuMagic) != 0) return {};
    for (size_t i = sizeof kGnuMagic; i < read.begin; i++) read.size = read.size << 8 | bytes[i];
    read.method = Method::kZlib;
    return read;
  }
  Elf64_Chdr header;
  static_assert(sizeof header == kPackedHeader);
  if (bytes.size() < sizeof header) return {};
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.ch_type == ELFCOMPRESS_ZLIB) read.method = Method::kZlib;
  if (header.ch_type == kZstdType) read.method = Method::kZstd;
  read.size = header.ch_size;
  read.begin = sizeof header;
  return read;
}

std::vector<uint8_t> unpack(const std::vector<uint8_t>& packed, SectionForm form, Budget& budget) {
  const PackedHeader header = readPackedHeader(packed, form);
  if (!isPlausible(header, packed.size())) return {};
  budget.takeBytes(header.size);
  std::vector<uint8_t> plain(header.size);
  const uint8_t* from = packed.data() + header.begin;
  const size_t length = packed.size() - header.begin;
  if (header.method == Method::kZstd) {
    // An error is a number above all sizes.
    if (ZSTD_decompress(plain.data(), plain.size(), from, length) != plain.size()) return {};
    return plain;
  }
  uLongf size = plain.size();
  if (uncompress(plain.data(), &size, from, length) != Z_OK) return {};
  plain.resize(size);
  return plain;
}

uint8_t lastUnpackedByte(const std::vector<uint8_t>& packed) {
  constexpr uint8_t kNone = 1;
  const PackedHeader header = readPackedHeader(packed, SectionForm::kHeader);
  z_stream stream = {};
  if (!isPlausible(header, packed.size()) || header.method != Method::kZlib || inflateInit(&stream) != Z_OK)
    return kNone;
  std::vector<uint8_t> input(packed.begin() + static_cast<ptrdiff_t>(header.begin), packed.end()), block(kInflateBlock);
  stream.next_in = input.data();
  stream.avail_in = static_cast<uInt>(input.size());
  uint8_t last = kNone;
  int state = Z_OK;
  // Block by block, of which none is kept.
  while (state == Z_OK && stream.total_out <= header.size) {
    stream.next_out = block.data();
    stream.avail_out = static_cast<uInt>(block.size());
    state = inflate(&stream, Z_NO_FLUSH);
    if (stream.avail_out < block.size()) last = *(stream.next_out - 1);
  }
  const bool isWhole = state == Z_STREAM_END && stream.total_out == header.size;
  inflateEnd(&stream);
  return isWhole ? last : kNone;
}

}  // namespace polytop
