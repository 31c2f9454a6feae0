// SPDX-License-Identifier: Apache-2.0
#include "files/kept_parts.h"

#include <memory>
#include <utility>

#include "util/hash.h"

namespace polytop {

std::optional<CacheKey> cacheKeyOf(const file_key& key, const std::optional<FileContent>& content, uint64_t maker) {
  if (!content || key.ctime == 0) return std::nullopt;
  return CacheKey{key, content->size, maker};
}

std::vector<uint8_t> KeptParts::read(uint32_t file, uint64_t offset, const std::string& maker) {
  const std::optional<CacheKey> key = keyOf(file, offset, maker);
  return key ? cache_.read(*key).value_or(std::vector<uint8_t>{}) : std::vector<uint8_t>{};
}

void KeptParts::write(uint32_t file, uint64_t offset, const std::string& maker, std::vector<uint8_t> content) {
  if (const std::optional<CacheKey> key = keyOf(file, offset, maker)) cache_.write(*key, std::move(content));
}

std::optional<CacheKey> KeptParts::keyOf(uint32_t file, uint64_t offset, const std::string& maker) {
  const std::shared_ptr<OpenFile> found = cache_.isOpen() ? catalog_.open(file) : nullptr;
  if (!found || !found->isUnchanged()) return std::nullopt;
  const auto* text = reinterpret_cast<const uint8_t*>(maker.data());
  return cacheKeyOf(catalog_.keyOf(file), found->content(), hashBytes(text, maker.size(), mix(ownBuild(), offset)));
}

}  // namespace polytop
