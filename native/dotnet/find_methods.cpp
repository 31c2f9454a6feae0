// SPDX-License-Identifier: Apache-2.0
//
// Formats: src/coreclr/inc/readytorun.h and NativeFormat of .NET 8 to 10.
#include "dotnet/find_methods.h"

#include <sys/stat.h>

#include "dotnet/method_signature.h"
#include "dotnet/native_format.h"
#include "util/budget.h"
#include "util/bytes.h"
#include "util/failure.h"

namespace polytop {

namespace {

/// What finding where a signature ends takes for each byte, in steps of a budget.
constexpr uint64_t kByteSteps = 2;

/// An entry point: the index of its function, and a bit that says whether a list of fixups follows.
constexpr uint32_t functionOf(uint32_t entryPoint) { return entryPoint & 1 ? entryPoint >> 2 : entryPoint >> 1; }

/// The tables in the file, from its start on.
class TableFile {
 public:
  explicit TableFile(int fd) : fd_(fd), size_(sizeOf(fd)), budget_(Budget::ofFile(size_)) {}

  std::vector<uint8_t> next(uint32_t size) {
    if (size > size_ - at_) throw Failure("a table of its image is cut");
    budget_.takeBytes(size);
    std::vector<uint8_t> bytes = readBytes(fd_, at_, size);
    if (bytes.size() != size) throw Failure("a table of its image is cut");
    at_ += size;
    return bytes;
  }

  Budget& budget() { return budget_; }

 private:
  static uint64_t sizeOf(int fd) {
    struct stat status = {};
    return fstat(fd, &status) == 0 && status.st_size > 0 ? static_cast<uint64_t>(status.st_size) : 0;
  }

  int fd_;
  uint64_t size_, at_ = 0;
  Budget budget_;
};

/// Entry points by the row of the method: a sparse array.
void addDefinitions(std::span<const uint8_t> table, uint16_t component, MethodList& list, Budget& budget) {
  const NativeReader reader(table, budget);
  reader.eachElement([&](uint32_t row, uint64_t at) {
    const uint32_t function = functionOf(reader.number(at));
    if (function >= list.methods.size()) return;
    list.methods[function] = 2 * (row + 1);
    if (!list.components.empty()) list.components[function] = component;
  });
}

/// Generic instances: a hash table whose entries are a signature and an entry point each. Each instance has a function
/// of its own, so there are no more of them.
void addInstances(std::span<const uint8_t> table, MethodList& list, Budget& budget) {
  const NativeReader reader(table, budget);
  size_t left = list.methods.size();
  reader.eachEntry([&](uint64_t at) {
    if (left-- == 0) throw Failure("a table of its image is damaged");
    std::optional<uint64_t> end = endOfMethodSignature(table, at);
    budget.takeSteps(kByteSteps * (end ? *end - at : kMaxMethodSignature));
    const std::optional<uint32_t> entryPoint = end ? reader.numberAt(*end) : std::nullopt;
    if (!entryPoint) {
      list.isWhole = false;
      return;
    }
    const uint32_t function = functionOf(*entryPoint);
    if (function < list.methods.size()) list.methods[function] = static_cast<uint32_t>(2 * at + 1);
  });
}

}  // namespace

MethodList findMethods(int fd, const MethodQuery& query) {
  TableFile file(fd);
  Budget& budget = file.budget();
  MethodList list;
  budget.takeBytes(query.functions * (sizeof list.methods[0] + sizeof list.components[0]));
  list.methods.resize(query.functions);
  if (query.definitions.size() > 1) list.components.resize(query.functions);
  const std::vector<uint8_t> instances = file.next(query.instances);
  for (size_t component = 0; component < query.definitions.size(); component++)
    addDefinitions(file.next(query.definitions[component]), static_cast<uint16_t>(component), list, budget);
  addInstances(instances, list, budget);
  return list;
}

}  // namespace polytop
