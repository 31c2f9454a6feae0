// SPDX-License-Identifier: Apache-2.0
#include "kernel_names/kernel_names.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cstring>

#include "bpf/abi.h"

namespace polytop {

bool kernelTellsNames() {
  static const bool tells = libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_snprintf, nullptr) == 1;
  return tells;
}

std::vector<std::string> nameKernel(const Session& session, std::span<const uint64_t> addresses) {
  const int program = session.programFd("name_kernel"), map = session.mapFd("kernel_texts");
  const uint32_t zero = 0;
  kernel_texts answer = {};
  std::vector<std::string> names(addresses.size());
  for (size_t first = 0; first < addresses.size(); first += KERNEL_QUESTIONS) {
    kernel_question question = {};
    const auto asked = addresses.subspan(first, std::min<size_t>(KERNEL_QUESTIONS, addresses.size() - first));
    std::ranges::copy(asked, question.addresses);
    LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &question, .ctx_size_in = sizeof question);
    const bool isTold = bpf_prog_test_run_opts(program, &options) == 0 && options.retval != 0 &&
                        bpf_map_lookup_elem(map, &zero, &answer) == 0;
    if (!isTold) break;
    for (size_t i = 0; i < asked.size(); i++)
      names[first + i].assign(answer.texts[i], strnlen(answer.texts[i], KERNEL_TEXT_BYTES));
  }
  return names;
}

}  // namespace polytop
