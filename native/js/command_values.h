// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <napi.h>

namespace polytop {

/// What the addon exports for commands: startCommand() and waitForCommand().
void defineCommands(Napi::Env env, Napi::Object& exports);

}  // namespace polytop
