// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "dotnet/native_format.h"

namespace polytop {

/**
 * The metadata of a NativeAOT program: records that handles lead to, by their kind and offset. Kinds are those of
 * src/coreclr/tools/Common/Internal/Metadata/NativeFormat/NativeFormatReaderCommonGen.cs of .NET 10 and 11, and so are
 * the fields of a record.
 */
class AotMetadata {
 public:
  /// `bytes` must outlive it. Throws a Failure where they are no metadata.
  AotMetadata(const std::vector<uint8_t>& bytes, Budget& budget);

  /// The string at an offset. Throws a Failure where there is none.
  std::string string(uint32_t offset) const;
  /// `Namespace.Outer+Inner` of a type by its token: its kind in the upper seven bits and its offset. Throws a Failure
  /// where that is something else.
  const std::string& typeName(uint32_t token);

 private:
  struct Handle {
    uint32_t kind;
    uint32_t offset;
  };

  Handle handle(uint64_t& at) const;
  std::string nameOfType(Handle type, int depth);
  const std::string& nameOfNamespace(Handle space, int depth);

  const std::vector<uint8_t>& bytes_;
  Budget& budget_;
  NativeReader reader_;
  std::unordered_map<uint32_t, std::string> types_, namespaces_;
};

}  // namespace polytop
