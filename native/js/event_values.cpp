// SPDX-License-Identifier: Apache-2.0
#include "js/event_values.h"

#include <string>

#include "events/probe_links.h"
#include "events/probe_places.h"
#include "events/tracing.h"
#include "js/values.h"
#include "parser/parser.h"

namespace polytop {

namespace {

uint64_t numberOf(const Napi::Object& from, const char* name) {
  const Napi::Value value = from.Get(name);
  return value.IsNumber() ? static_cast<uint64_t>(value.As<Napi::Number>().Int64Value()) : 0;
}

std::string textOf(const Napi::Object& from, const char* name) {
  const Napi::Value value = from.Get(name);
  return value.IsString() ? value.As<Napi::String>().Utf8Value() : "";
}

template <typename Take>
void eachOf(const Napi::Object& from, const char* name, Take take) {
  const Napi::Value value = from.Get(name);
  if (!value.IsArray()) return;
  const Napi::Array array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) take(array.Get(i));
}

FileProbes readFile(const Napi::Object& from) {
  FileProbes file;
  file.path = textOf(from, "path");
  eachOf(from, "places", [&](const Napi::Value& value) {
    const Napi::Object place = value.As<Napi::Object>();
    file.places.push_back({numberOf(place, "offset"), numberOf(place, "semaphore")});
  });
  return file;
}

EventSetup readEvent(const Napi::Object& from) {
  EventSetup setup;
  setup.number = static_cast<uint32_t>(numberOf(from, "number"));
  setup.name = textOf(from, "name");
  setup.kind = static_cast<event_kind>(numberOf(from, "kind") % EVENT_KINDS);
  setup.type = static_cast<uint32_t>(numberOf(from, "type"));
  setup.config = numberOf(from, "config");
  setup.period = numberOf(from, "period");
  setup.frequency = static_cast<uint32_t>(numberOf(from, "frequency"));
  setup.modifiers = textOf(from, "modifiers");
  setup.hasOwnPeriod = from.Get("hasOwnPeriod").ToBoolean();
  setup.takesKernelStack = !from.Get("withoutKernelStack").ToBoolean();
  setup.fieldOffset = static_cast<uint32_t>(numberOf(from, "fieldOffset"));
  setup.fieldSize = static_cast<uint32_t>(numberOf(from, "fieldSize"));
  setup.fieldSigned = from.Get("fieldSigned").ToBoolean();
  eachOf(from, "files", [&](const Napi::Value& file) { setup.files.push_back(readFile(file.As<Napi::Object>())); });
  eachOf(from, "functions",
         [&](const Napi::Value& name) { setup.functions.push_back(name.As<Napi::String>().Utf8Value()); });
  return setup;
}

/// listFunctions(path, isWritten): columns of functions; those of choosers are of what they chose. isWritten: with the
/// names that people write.
Napi::Value functionsOf(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::string path = info[0].As<Napi::String>().Utf8Value();
  const bool isWritten = info[1].ToBoolean();
  return guarded(env, [&]() -> Napi::Value {
    Parser parser(besideAddon("polytop-parser"));
    std::vector<std::string> names, written, parameters, versions;
    std::vector<double> offsets, chosen;
    std::vector<uint8_t> choosers, olds;
    std::vector<ProbedFunction> found = listFunctions(parser, path, isWritten);
    std::vector<ProbedFunction> choosing;
    for (ProbedFunction& function : found) {
      if (function.isChooser) choosing.push_back(function);
      names.push_back(std::move(function.name));
      if (isWritten) {
        written.push_back(std::move(function.written));
        parameters.push_back(std::move(function.parameters));
      }
      versions.push_back(std::move(function.version));
      offsets.push_back(static_cast<double>(function.offset));
      choosers.push_back(function.isChooser);
      olds.push_back(function.isOld);
    }
    for (const int64_t offset : chosenFunctions(path, choosing)) chosen.push_back(static_cast<double>(offset));
    return object(env, "names", names, "written", written, "parameters", parameters, "versions", versions, "offsets",
                  offsets, "olds", olds, "choosers", choosers, "chosen", chosen);
  });
}

/// listLinePlaces(path, source, line): where the line begins in a file.
Napi::Value linePlacesOf(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::string path = info[0].As<Napi::String>().Utf8Value();
  const std::string source = info[1].As<Napi::String>().Utf8Value();
  const uint32_t line = info[2].As<Napi::Number>().Uint32Value();
  return guarded(env, [&]() -> Napi::Value {
    Parser parser(besideAddon("polytop-parser"));
    const LinePlaces found = listLinePlaces(parser, path, source, line);
    const std::vector<double> offsets(found.offsets.begin(), found.offsets.end());
    return object(env, "offsets", offsets, "sources", found.sources, "next", found.next, "why", found.why);
  });
}

/// listNeededFiles(path): what a program or library needs to run.
Napi::Value neededFilesOf(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::string path = info[0].As<Napi::String>().Utf8Value();
  return guarded(env, [&]() -> Napi::Value {
    Parser parser(besideAddon("polytop-parser"));
    const NeededFiles needed = listNeededFiles(parser, path);
    return object(env, "interpreter", needed.interpreter, "libraries", needed.libraries, "folders", needed.folders);
  });
}

/// listStaticProbes(path): an object for each.
Napi::Value staticProbesOf(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::string path = info[0].As<Napi::String>().Utf8Value();
  return guarded(env, [&]() -> Napi::Value {
    Parser parser(besideAddon("polytop-parser"));
    return listOf(env, listStaticProbes(parser, path), [env](const StaticProbe& probe) {
      return object(env, "provider", probe.provider, "name", probe.name, "offset", probe.offset, "semaphore",
                    probe.semaphore);
    });
  });
}

}  // namespace

std::vector<EventSetup> readEvents(const Napi::Value& value) {
  std::vector<EventSetup> setups;
  if (!value.IsArray()) return setups;
  const Napi::Array array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) setups.push_back(readEvent(array.Get(i).As<Napi::Object>()));
  return setups;
}

std::vector<EventSource> readSources(const Napi::Value& value) {
  std::vector<EventSource> sources;
  if (!value.IsArray()) return sources;
  const Napi::Array array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Object source = array.Get(i).As<Napi::Object>();
    sources.push_back({textOf(source, "name"), static_cast<uint32_t>(numberOf(source, "type")),
                       numberOf(source, "config"), source.Get("isClock").ToBoolean()});
  }
  return sources;
}

void defineEvents(Napi::Env env, Napi::Object& exports) {
  exports.Set("listFunctions", Napi::Function::New(env, functionsOf));
  exports.Set("listLinePlaces", Napi::Function::New(env, linePlacesOf));
  exports.Set("listNeededFiles", Napi::Function::New(env, neededFilesOf));
  exports.Set("listStaticProbes", Napi::Function::New(env, staticProbesOf));
  exports.Set("hasMultiProbes", Napi::Function::New(env, [](const Napi::CallbackInfo& info) {
                return Napi::Boolean::New(info.Env(), hasMultiProbes());
              }));
  exports.Set("openTracing", Napi::Function::New(env, [](const Napi::CallbackInfo& info) {
                return guarded(info.Env(),
                               [&]() -> Napi::Value { return Napi::String::New(info.Env(), openTracing()); });
              }));
}

}  // namespace polytop
