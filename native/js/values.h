// SPDX-License-Identifier: Apache-2.0
// C++ values as JavaScript has them. A struct becomes an object by a list of its names and values:
//   object(env, "pid", task.pid, "comm", task.comm)
#pragma once

#include <napi.h>

#include <array>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "js/shapes.h"
#include "util/failure.h"

namespace polytop {

/// A 64-bit number of which JavaScript needs all bits: a BigInt. Others become Numbers.
struct Big {
  uint64_t value = 0;
};

/// Bytes as they are: a Buffer.
struct Bytes {
  const void* data = nullptr;
  size_t size = 0;
};

inline Napi::Value valueOf(Napi::Env, const Napi::Value& from) { return from; }
inline Napi::Value valueOf(Napi::Env env, const std::string& from) { return Napi::String::New(env, from); }
inline Napi::Value valueOf(Napi::Env env, const char* from) { return Napi::String::New(env, from); }
inline Napi::Value valueOf(Napi::Env env, const Big& from) { return Napi::BigInt::New(env, from.value); }
inline Napi::Value valueOf(Napi::Env env, const Bytes& from) {
  return Napi::Buffer<char>::Copy(env, static_cast<const char*>(from.data), from.size);
}
inline Napi::Value valueOf(Napi::Env env, bool from) { return Napi::Boolean::New(env, from); }

template <typename Number>
  requires(std::is_arithmetic_v<Number>)
Napi::Value valueOf(Napi::Env env, Number from) {
  return Napi::Number::New(env, static_cast<double>(from));
}

/// A typed array of its own memory. It has none once its thread is being ended, which may happen in the middle of
/// any call.
template <typename Element>
  requires(std::is_arithmetic_v<Element>)
Napi::Value valueOf(Napi::Env env, const std::vector<Element>& from) {
  auto to = Napi::TypedArrayOf<Element>::New(env, from.size());
  if (to.Data() && !from.empty()) memcpy(to.Data(), from.data(), from.size() * sizeof(Element));
  return to;
}

/// An array of what `convert` makes of each element.
template <typename Elements, typename Convert>
Napi::Array listOf(Napi::Env env, const Elements& from, Convert convert) {
  Napi::Array list = Napi::Array::New(env, std::size(from));
  uint32_t index = 0;
  for (const auto& element : from) list.Set(index++, valueOf(env, convert(element)));
  return list;
}

inline Napi::Value valueOf(Napi::Env env, const std::vector<std::string>& from) {
  return listOf(env, from, [](const std::string& text) { return text; });
}

inline void list(Napi::Env, const char**, napi_value*) {}

/// Lists names and values that come in turn.
template <typename Value, typename... Rest>
void list(Napi::Env env, const char** names, napi_value* values, const char* name, const Value& value,
          const Rest&... rest) {
  *names = name;
  *values = valueOf(env, value);
  list(env, names + 1, values + 1, rest...);
}

/// An object of names, which are literals, and values in turn.
template <typename... NamesAndValues>
Napi::Object object(Napi::Env env, const NamesAndValues&... namesAndValues) {
  std::array<const char*, sizeof...(namesAndValues) / 2> names = {};
  std::array<napi_value, names.size()> values = {};
  list(env, names.data(), values.data(), namesAndValues...);
  return makeObject(env, names, values);
}

/// Throws a JavaScript error with `errno` (0: none). Returns undefined, for its caller to.
inline Napi::Value throwFailure(Napi::Env env, const Failure& failure) {
  const Napi::Error error = Napi::Error::New(env, failure.what());
  error.Set("errno", Napi::Number::New(env, failure.error()));
  error.ThrowAsJavaScriptException();
  return env.Undefined();
}

/// The same for what nobody expects, such as the end of memory: it must not cross the frames of Node, which are C.
inline Napi::Value throwUnexpected(Napi::Env env, const std::exception& error) {
  Napi::Error::New(env, reasonOf(error)).ThrowAsJavaScriptException();
  return env.Undefined();
}

/// Calls what a callback of Node does; an exception becomes a JavaScript error.
template <typename Work>
Napi::Value guarded(Napi::Env env, Work work) {
  try {
    return work();
  } catch (const Failure& failure) {
    return throwFailure(env, failure);
  } catch (const std::exception& error) {
    return throwUnexpected(env, error);
  }
}

}  // namespace polytop
