// SPDX-License-Identifier: Apache-2.0
#include "kernel/self_test.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "arch/arch.h"

namespace polytop {

namespace {

std::vector<std::string> readMaps() {
  std::ifstream maps("/proc/self/maps");
  std::vector<std::string> lines;
  for (std::string line; std::getline(maps, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// Asks for one address. Returns an enum mapping_answer, or -1 with errno set.
int ask(int program, mapping_question& question) {
  LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &question, .ctx_size_in = sizeof question);
  return bpf_prog_test_run_opts(program, &options) == 0 ? static_cast<int>(options.retval) : -1;
}

/// Those of these lines whose mapping the walk does not find as they say.
std::vector<std::string> findWrong(int program, const std::vector<std::string>& lines) {
  std::vector<std::string> wrong;
  for (const std::string& line : lines) {
    // proc_pid_maps(5): start-end permissions offset device inode path
    unsigned long long start = 0, end = 0, offset = 0, inode = 0;
    if (sscanf(line.c_str(), "%llx-%llx %*s %llx %*s %llu", &start, &end, &offset, &inode) != 4) continue;
    if (start >= arch::kUserEnd) continue;
    mapping_question first = {start, start, end, offset, inode};
    mapping_question last = {end - 1, start, end, offset, inode};
    const int answers[] = {ask(program, first), ask(program, last)};
    if (answers[0] < 0) throw Failure("the kernel does not run the test of mappings", errno);
    if (answers[0] != MAPPING_FOUND || answers[1] != MAPPING_FOUND) wrong.push_back(line);
  }
  return wrong;
}

/// A kernel that is not understood gives the wrong answer each time.
constexpr int kLooks = 5;

}  // namespace

void checkOwnMappings(const Session& session) {
  const int program = session.programFd("check_mapping");
  std::vector<std::string> lines = readMaps();
  for (int look = 0; look < kLooks; look++) {
    lines = findWrong(program, lines);
    // Other threads map and unmap meanwhile: what is there no more was not asked in time. What is there again is asked
    // again, since it may have been gone for a moment.
    const std::vector<std::string> after = readMaps();
    std::erase_if(lines, [&](const auto& line) { return !std::binary_search(after.begin(), after.end(), line); });
    if (lines.empty()) return;
  }
  throw Failure("this kernel keeps the mappings of processes in a way that polytop does not know", ENOTSUP);
}

}  // namespace polytop
