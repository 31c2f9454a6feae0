// SPDX-License-Identifier: Apache-2.0
#include "aot/aot_metadata.h"

#include "util/bytes.h"

namespace polytop {
namespace {

constexpr uint32_t kMetadataSignature = 0xdeaddffd;

enum Kind : uint32_t {
  kNamespaceDefinition = 47,
  kNamespaceReference = 48,
  kScopeDefinition = 56,
  kScopeReference = 57,
  kTypeDefinition = 58,
  kInstantiation = 60,
  kTypeReference = 61,
  kTypeSpecification = 62,
};

constexpr uint32_t kKindBits = 7, kTokenShift = 25;
/// Types and namespaces are nested less deep.
constexpr int kMostNesting = 32;
/// A longer name is none of a compiler.
constexpr size_t kMostName = 1024;
/// What looking at a record takes.
constexpr uint64_t kSteps = 32;

[[noreturn]] void refuse() { throw Failure("its metadata is damaged"); }

}  // namespace

AotMetadata::AotMetadata(const std::vector<uint8_t>& bytes, Budget& budget)
    : bytes_(bytes), budget_(budget), reader_(bytes, budget) {
  if (bytes.size() < sizeof kMetadataSignature || valueAt<uint32_t>(bytes, 0) != kMetadataSignature) refuse();
}

std::string AotMetadata::string(uint32_t offset) const {
  uint64_t at = offset;
  const uint32_t length = reader_.number(at);
  if (length > kMostName || length > bytes_.size() - at) refuse();
  budget_.takeSteps(kSteps + length);
  return {reinterpret_cast<const char*>(bytes_.data()) + at, length};
}

AotMetadata::Handle AotMetadata::handle(uint64_t& at) const {
  const uint32_t value = reader_.number(at);
  return {value & ((1u << kKindBits) - 1), value >> kKindBits};
}

const std::string& AotMetadata::typeName(uint32_t token) {
  const auto [place, isNew] = types_.try_emplace(token);
  if (isNew) place->second = nameOfType({token >> kTokenShift, token & ((1u << kTokenShift) - 1)}, 0);
  return place->second;
}

std::string AotMetadata::nameOfType(Handle type, int depth) {
  if (depth == kMostNesting) refuse();
  budget_.takeSteps(kSteps);
  uint64_t at = type.offset;
  Handle parent = {};
  switch (type.kind) {
    case kTypeSpecification:
    case kInstantiation: {
      // Of what a generic type is made of follows; the name is that of the type itself.
      const Handle inner = handle(at);
      const bool isSignature = type.kind == kTypeSpecification;
      if (isSignature != (inner.kind == kInstantiation)) refuse();
      return nameOfType(inner, depth + 1);
    }
    case kTypeReference:
      parent = handle(at);
      break;
    case kTypeDefinition:
      reader_.number(at);  // flags
      handle(at);          // the base type
      parent = {kNamespaceDefinition, reader_.number(at)};
      break;
    default:
      refuse();
  }
  const std::string name = string(reader_.number(at));
  if (name.empty()) refuse();
  if (type.kind == kTypeDefinition) {
    reader_.number(at);  // its size
    reader_.number(at);  // and how it is packed
    if (const uint32_t outer = reader_.number(at)) parent = {kTypeDefinition, outer};
  }
  const bool isNested = parent.kind == type.kind;
  const std::string before = isNested ? nameOfType(parent, depth + 1) : nameOfNamespace(parent, 0);
  if (before.size() > kMostName) refuse();
  return before.empty() ? name : before + (isNested ? "+" : ".") + name;
}

const std::string& AotMetadata::nameOfNamespace(Handle space, int depth) {
  if (depth == kMostNesting || (space.kind != kNamespaceDefinition && space.kind != kNamespaceReference)) refuse();
  const auto [place, isNew] = namespaces_.try_emplace(space.offset);
  std::string& text = place->second;
  if (!isNew) return text;
  uint64_t at = space.offset;
  const Handle parent = handle(at);
  const uint32_t own = reader_.number(at);
  const std::string name = own == 0 ? "" : string(own);
  // The outermost namespace of an assembly has no name.
  if (parent.kind == kScopeDefinition || parent.kind == kScopeReference) return text = name;
  const std::string& before = nameOfNamespace(parent, depth + 1);
  if (name.empty() || before.size() > kMostName) refuse();
  return text = before.empty() ? name : before + "." + name;
}

}  // namespace polytop
