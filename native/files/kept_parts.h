// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cache/disk_cache.h"
#include "files/catalog.h"
#include "mapped/identity.h"

namespace polytop {

/// The key of what was made of a file. None where nothing would tell that the file has changed: copies come from file
/// systems that may say of it whatever they like, and a file in memory has no time.
std::optional<CacheKey> cacheKeyOf(const file_key& key, const std::optional<FileContent>& content, uint64_t maker);

/**
 * Keeps what JavaScript makes of parts of sampled files from one run to the next. A part is told by the offset where it
 * begins. `maker` is a text that tells the code that makes and reads it from others. Any thread may call it.
 */
class KeptParts {
 public:
  KeptParts(Catalog& catalog, DiskCache& cache) : catalog_(catalog), cache_(cache) {}

  /// Empty where nothing is kept, and where the file was written to since.
  std::vector<uint8_t> read(uint32_t file, uint64_t offset, const std::string& maker);
  void write(uint32_t file, uint64_t offset, const std::string& maker, std::vector<uint8_t> content);

 private:
  std::optional<CacheKey> keyOf(uint32_t file, uint64_t offset, const std::string& maker);

  Catalog& catalog_;
  DiskCache& cache_;
};

}  // namespace polytop
