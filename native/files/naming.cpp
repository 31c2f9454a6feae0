// SPDX-License-Identifier: Apache-2.0
#include "files/naming.h"

#include <utility>

#include "mapped/identity.h"

namespace polytop {

void Naming::makeReady(const std::vector<uint32_t>& files) {
  std::vector<std::shared_ptr<OpenFile>> found;
  for (const uint32_t file : files) {
    if (std::shared_ptr<OpenFile> known = catalog_.open(file)) found.push_back(std::move(known));
  }
  symbols_.makeReady(found);
}

NamedOffset Naming::name(uint32_t file, uint64_t offset) {
  const std::shared_ptr<OpenFile> found = catalog_.open(file);
  if (!found) return {"", 0, 0, "nothing is known of its file any more"};
  if (found->lacksSymbols()) symbols_.makeReady({found});
  NamedOffset named = found->name(offset, refresh_);
  if (!found->wantsNames()) return named;
  symbols_.readNames({found});
  return found->name(offset, refresh_);
}

uint32_t Naming::functionOf(uint32_t file, uint64_t offset) {
  const std::shared_ptr<OpenFile> found = catalog_.open(file);
  const uint64_t entry = found ? found->entryStart(offset) : 0;
  const uint64_t start = found ? found->functionStart(offset, entry) : 0;
  if (start == 0 || nextFunction_ > kLastFunction) return 0;
  const auto [number, isNew] = functions_.add(uint64_t{file} << FRAME_FILE_SHIFT | start);
  if (!isNew) return number;
  number = nextFunction_++;
  found->wantName(offset, entry);
  if (found->wantsNames() && (unnamed_.empty() || unnamed_.back() != found)) unnamed_.push_back(found);
  return number;
}

void Naming::forgetOthers(const std::vector<uint32_t>& numbers) {
  // Numbers grow for as long as polytop runs: a bit for each would take more every day.
  FlatMap<uint64_t, bool, NumberHash> kept;
  for (const uint32_t number : numbers) kept.add(number).first = true;
  functions_.keepIf([&](uint32_t number) { return kept.find(number) != nullptr; });
}

void Naming::readNames() { symbols_.readNames(std::exchange(unnamed_, {})); }

std::vector<uint8_t> Naming::read(uint32_t file, const std::string& name, uint64_t offset, size_t size) {
  const std::shared_ptr<OpenFile> found = catalog_.open(file);
  return found ? found->read(name, offset, size) : std::vector<uint8_t>{};
}

uint32_t Naming::ownerOfFile(uint32_t file) {
  const std::shared_ptr<OpenFile> found = catalog_.open(file);
  return found ? ownerOf(found->file().get()) : 0;
}

void Naming::openAgain(uint32_t file, LineRequest& request) {
  const std::shared_ptr<OpenFile> found = catalog_.open(file);
  if (!found || !found->isUnchanged()) return;
  request.key = catalog_.keyOf(file);
  request.file = found->file().duplicate();
  request.root = found->root().duplicate();
}

}  // namespace polytop
