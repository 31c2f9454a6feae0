// SPDX-License-Identifier: Apache-2.0
#include "elf/lzma_section.h"

#include <lzma.h>

#include <algorithm>
#include <cstddef>

namespace polytop {
namespace {

constexpr uint64_t kMaxDecoderMemory = 64ULL << 20;
constexpr size_t kMaxOutput = 64u << 20;
constexpr size_t kFirstOutput = 256u << 10;

}  // namespace

std::vector<uint8_t> decodeXz(const std::vector<uint8_t>& packed) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kMaxDecoderMemory, 0) != LZMA_OK) return {};
  std::vector<uint8_t> plain;
  stream.next_in = packed.data();
  stream.avail_in = packed.size();
  lzma_ret state = LZMA_OK;
  while (state == LZMA_OK && plain.size() < kMaxOutput) {
    const size_t done = plain.size();
    plain.resize(std::min(std::max(kFirstOutput, done * 2), kMaxOutput));
    stream.next_out = plain.data() + done;
    stream.avail_out = plain.size() - done;
    // LZMA_BUF_ERROR ends the loop when the input is at its end before the stream is.
    while (state == LZMA_OK && stream.avail_out > 0) state = lzma_code(&stream, LZMA_FINISH);
  }
  const size_t size = stream.total_out;
  lzma_end(&stream);
  if (state != LZMA_STREAM_END) return {};
  plain.resize(size);
  plain.shrink_to_fit();
  return plain;
}

}  // namespace polytop
