// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <napi.h>

#include "kernel/session.h"

namespace polytop {

/**
 * Exports what is asked of the kernel beside a sampler:
 *   begin(objectPath): begins what takes longest at the start; see beginEarly().
 *   readKernelSymbols(path): the columns of KernelSymbols; undefined where all addresses are hidden. Throws an error
 *   with `errno` where the file cannot be read.
 *   tryToLoad(objectPath, sweepPath): LoadTrial, {sampling, waits}.
 */
void defineKernel(Napi::Env env, Napi::Object exports);

/// The names of addresses (a BigUint64Array) as the kernel tells them: nameKernel().
Napi::Value describeKernelNames(const Napi::CallbackInfo& info, const Session& session);

}  // namespace polytop
