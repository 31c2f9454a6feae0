// SPDX-License-Identifier: Apache-2.0
#include "js/shapes.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace polytop {

namespace {

/// A function that makes objects of these names, in the order of its arguments.
struct Shape {
  std::vector<const char*> names;
  napi_ref function = nullptr;
};

/// `(function(a0,a1){return{first:a0,second:a1}})`
std::string sourceOf(std::span<const char* const> names) {
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

thread_local std::unique_ptr<Shapes> ownShapes;

Shapes& shapesOf(napi_env env) {
  if (!ownShapes || !ownShapes->isOf(env)) {
    ownShapes = std::make_unique<Shapes>(env);
    // References are to be given back while there is still what they belong to.
    napi_add_env_cleanup_hook(env, [](void*) { ownShapes.reset(); }, nullptr);
  }
  return *ownShapes;
}

}  // namespace

Napi::Object makeObject(Napi::Env env, std::span<const char* const> names, std::span<const napi_value> values) {
  const napi_value function = shapesOf(env).functionFor(names);
  napi_value made = nullptr, nobody = env.Undefined();
  if (!function || napi_call_function(env, nobody, function, values.size(), values.data(), &made) != napi_ok)
    return Napi::Object::New(env);
  return Napi::Object(env, made);
}

}  // namespace polytop
