// SPDX-License-Identifier: Apache-2.0
// C++ values as JavaScript has them. A struct becomes an object by a list of its names and values:
//   object(env, "pid", task.pid, "comm", task.comm)
#pragma once

#include <dlfcn.h>
#include <napi.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

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

/// The program of that name beside the addon, with which all of polytop's lie.
inline std::string besideAddon(const std::string& name) {
  Dl_info self = {};
  if (!dladdr(reinterpret_cast<const void*>(&besideAddon), &self) || !self.dli_fname) return name;
  const std::string path = self.dli_fname;
  return path.substr(0, path.rfind('/') + 1) + name;
}

/// Empty where the value is no text.
inline std::string textOf(const Napi::Value& value) {
  return value.IsString() ? value.As<Napi::String>().Utf8Value() : "";
}

/// The texts of an array.
inline std::vector<std::string> textsOf(const Napi::Value& value) {
  const Napi::Array array = value.As<Napi::Array>();
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < array.Length(); i++) texts.push_back(array.Get(i).As<Napi::String>().Utf8Value());
  return texts;
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

/// A function that makes objects of these names, in the order of its arguments.
struct Shape {
  std::vector<const char*> names;
  napi_ref function = nullptr;
};

/// `(function(a0,a1){return{first:a0,second:a1}})`
inline std::string sourceOf(std::span<const char* const> names) {
  std::string arguments, properties;
  for (size_t i = 0; i < names.size(); i++) {
    const std::string comma = i ? "," : "", argument = "a" + std::to_string(i);
    arguments += comma + argument;
    properties += comma + names[i] + ":" + argument;
  }
  return "(function(" + arguments + "){return{" + properties + "}})";
}

/// The shapes of the objects of one JavaScript thread.
class Shapes {
 public:
  explicit Shapes(napi_env env) : env_(env) {}
  Shapes(const Shapes&) = delete;
  ~Shapes() {
    for (const Shape& shape : shapes_) napi_delete_reference(env_, shape.function);
  }

  bool isOf(napi_env env) const { return env_ == env; }

  /// Null where the thread is being ended.
  napi_value functionFor(std::span<const char* const> names) {
    auto shape = std::ranges::find_if(shapes_, [&](const Shape& it) { return std::ranges::equal(it.names, names); });
    if (shape == shapes_.end()) {
      if (!add(names)) return nullptr;
      shape = shapes_.end() - 1;
    }
    napi_value function = nullptr;
    napi_get_reference_value(env_, shape->function, &function);
    return function;
  }

 private:
  bool add(std::span<const char* const> names) {
    const std::string source = sourceOf(names);
    napi_value script = nullptr, function = nullptr;
    Shape shape = {{names.begin(), names.end()}};
    const bool isMade = napi_create_string_utf8(env_, source.c_str(), source.size(), &script) == napi_ok &&
                        napi_run_script(env_, script, &function) == napi_ok &&
                        napi_create_reference(env_, function, 1, &shape.function) == napi_ok;
    if (isMade) shapes_.push_back(std::move(shape));
    return isMade;
  }

  napi_env env_;
  std::vector<Shape> shapes_;
};

inline Shapes& shapesOf(napi_env env) {
  static thread_local std::unique_ptr<Shapes> ownShapes;
  if (!ownShapes || !ownShapes->isOf(env)) {
    ownShapes = std::make_unique<Shapes>(env);
    // References are to be given back while there is still what they belong to.
    napi_add_env_cleanup_hook(env, [](void*) { ownShapes.reset(); }, nullptr);
  }
  return *ownShapes;
}

/**
 * Makes an object of names and as many values. The names are identifiers, and literals: those of an object stay at
 * their addresses. A function of JavaScript that has the names in a literal of its own makes it: a drain's objects took
 * three times as long while each property was set from outside. An empty object where the thread is being ended.
 */
inline Napi::Object makeObject(Napi::Env env, std::span<const char* const> names, std::span<const napi_value> values) {
  const napi_value function = shapesOf(env).functionFor(names);
  napi_value made = nullptr, nobody = env.Undefined();
  if (!function || napi_call_function(env, nobody, function, values.size(), values.data(), &made) != napi_ok)
    return Napi::Object::New(env);
  return Napi::Object(env, made);
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
