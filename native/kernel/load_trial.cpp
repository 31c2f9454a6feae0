// SPDX-License-Identifier: Apache-2.0
#include "kernel/load_trial.h"

#include <bpf/libbpf.h>

#include <algorithm>
#include <memory>

#include "kernel/session.h"
#include "kernel/wait_object.h"

namespace polytop {

namespace {

/// Room for so many threads: nothing is swept.
constexpr uint32_t kRows = 1;

}  // namespace

LoadTrial tryToLoad(const std::string& objectPath, const std::string& sweepPath) {
  LoadTrial trial;
  try {
    const std::unique_ptr<bpf_object, decltype(&bpf_object__close)> sampling(loadSamplingObject(objectPath),
                                                                             bpf_object__close);
    try {
      const auto cpus = static_cast<uint32_t>(std::max(libbpf_num_possible_cpus(), 1));
      WaitObject().load(sweepPath, sampling.get(), cpus, kRows);
    } catch (const Failure& failure) {
      trial.waits = failure.what();
    }
  } catch (const Failure& failure) {
    trial.sampling = failure.what();
  }
  return trial;
}

}  // namespace polytop
