// SPDX-License-Identifier: Apache-2.0
#include "js/command_values.h"

#include <string>
#include <thread>
#include <vector>

#include "command/command.h"
#include "js/values.h"

namespace polytop {

namespace {

/// startCommand({words, environment, descriptors, user?, uid?, gid?}): its pid.
Napi::Value start(const Napi::CallbackInfo& info) {
  const Napi::Object given = info[0].As<Napi::Object>();
  Command command;
  command.words = textsOf(given.Get("words"));
  command.environment = textsOf(given.Get("environment"));
  const Napi::Array descriptors = given.Get("descriptors").As<Napi::Array>();
  for (uint32_t i = 0; i < 3; i++) command.descriptors[i] = descriptors.Get(i).As<Napi::Number>().Int32Value();
  if (given.Get("user").IsString()) {
    command.user = given.Get("user").As<Napi::String>().Utf8Value();
    command.uid = given.Get("uid").As<Napi::Number>().Uint32Value();
    command.gid = given.Get("gid").As<Napi::Number>().Uint32Value();
  }
  return guarded(info.Env(), [&]() -> Napi::Value {
    if (command.words.empty()) throw Failure("there is no command", EINVAL);
    return Napi::Number::New(info.Env(), startCommand(command));
  });
}

/// waitForCommand(pid, callback): calls back with its exit status and the signal that ended it (0: none).
Napi::Value wait(const Napi::CallbackInfo& info) {
  const pid_t pid = info[0].As<Napi::Number>().Int32Value();
  auto done = Napi::ThreadSafeFunction::New(info.Env(), info[1].As<Napi::Function>(), "command", 0, 1);
  // A command may take days: none of Node's few threads is to wait for it.
  std::thread([pid, done]() mutable {
    const CommandEnd end = waitForCommand(pid);
    done.BlockingCall([end](Napi::Env env, const Napi::Function& callback) {
      callback.Call({Napi::Number::New(env, end.status), Napi::Number::New(env, end.signal)});
    });
    done.Release();
  }).detach();
  return info.Env().Undefined();
}

}  // namespace

void defineCommands(Napi::Env env, Napi::Object& exports) {
  exports.Set("commandThread", Napi::Function::New(env, [](const Napi::CallbackInfo& info) {
                return Napi::Number::New(info.Env(), commandThread());
              }));
  exports.Set("startCommand", Napi::Function::New(env, start));
  exports.Set("waitForCommand", Napi::Function::New(env, wait));
}

}  // namespace polytop
