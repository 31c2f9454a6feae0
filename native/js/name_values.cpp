// SPDX-License-Identifier: Apache-2.0
#include "js/name_values.h"

#include <algorithm>

#include "js/values.h"

namespace polytop {

Napi::Array describeNames(Napi::Env env, const std::vector<name_record>& names) {
  const auto text = [env](const name_part& from) {
    const Bytes bytes = {from.bytes, std::min<size_t>(from.length, NAME_PART_BYTES)};
    return object(env, "encoding", from.encoding, "length", from.length, "bytes", bytes);
  };
  return listOf(env, names, [&](const name_record& record) {
    return object(env, "interpreter", record.interpreter, "name", Big{record.name}, "kind", record.kind, "flags",
                  record.flags, "parts", listOf(env, record.parts, text));
  });
}

}  // namespace polytop
