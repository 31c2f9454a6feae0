// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <napi.h>

#include <vector>

#include "events/event_setup.h"
#include "kernel/cpu_events.h"

namespace polytop {

/// Events as src/addon/events.ts describes them; none where the value is no array.
std::vector<EventSetup> readEvents(const Napi::Value& value);

/// Sources of the sampling event as src/tick/events.ts lists them; none where the value is no array.
std::vector<EventSource> readSources(const Napi::Value& value);

/// What the addon exports for finding events: openTracing().
void defineEvents(Napi::Env env, Napi::Object& exports);

}  // namespace polytop
