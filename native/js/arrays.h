// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <napi.h>

#include <cstring>
#include <vector>

namespace polytop {

/// A typed array of its own memory. It has none once its thread is being ended, which may happen in the middle of
/// any call.
template <typename Array, typename Element>
Array copyArray(Napi::Env env, const std::vector<Element>& from) {
  static_assert(sizeof(Element) == sizeof(*Array().Data()));
  Array to = Array::New(env, from.size());
  if (to.Data() && !from.empty()) memcpy(to.Data(), from.data(), from.size() * sizeof(Element));
  return to;
}

}  // namespace polytop
