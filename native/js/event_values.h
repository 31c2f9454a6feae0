// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <napi.h>

#include <vector>

#include "events/event_setup.h"

namespace polytop {

/// Events as src/addon/events.ts describes them; none where the value is no array.
std::vector<EventSetup> readEvents(const Napi::Value& value);

/// What the addon exports for finding events: openTracing().
void defineEvents(Napi::Env env, Napi::Object& exports);

}  // namespace polytop
