// SPDX-License-Identifier: Apache-2.0
//
// stack_depth FILE: loads each program of a BPF object and prints its name and the bytes of stack of its deepest chain
// of calls, as kernels count them that round each frame up to 32 bytes (check_max_stack_depth() of Linux 6.1). The
// running kernel may round up to 16, as 6.18 does, and load what they refuse.
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr size_t kRounding = 32, kLogBytes = 1 << 16;
/// The log ends with figures: what it takes, how deep each function's own frame is.
constexpr int kFiguresOnly = 4;
constexpr std::string_view kDepths = "stack depth ";

bool isCall(const bpf_insn& instruction) {
  return instruction.code == (BPF_JMP | BPF_CALL) && instruction.src_reg == BPF_PSEUDO_CALL;
}

/// The places of instructions that a program calls, in ascending order; its own is the first.
std::vector<size_t> functionsOf(const bpf_insn* code, size_t count) {
  std::vector<size_t> starts = {0};
  for (size_t i = 0; i < count; i++) {
    if (isCall(code[i])) starts.push_back(i + 1 + code[i].imm);
  }
  std::ranges::sort(starts);
  starts.erase(std::ranges::unique(starts).begin(), starts.end());
  return starts;
}

/// The verifier's figures for the functions in the order of their places: `160+80+0`.
std::map<size_t, size_t> framesOf(const std::string& log, const std::vector<size_t>& starts) {
  std::map<size_t, size_t> frames;
  const size_t place = log.find(kDepths);
  if (place == std::string::npos) return frames;
  char* at = const_cast<char*>(log.c_str()) + place + kDepths.size();
  for (const size_t start : starts) {
    const size_t depth = strtoul(at, &at, 10);
    frames[start] = (std::max<size_t>(depth, 1) + kRounding - 1) / kRounding * kRounding;
    if (*at == '+') at++;
  }
  return frames;
}

size_t deepestFrom(size_t start, const bpf_insn* code, size_t count, const std::map<size_t, size_t>& frames,
                   std::map<size_t, size_t>& known) {
  if (const auto found = known.find(start); found != known.end()) return found->second;
  const auto next = frames.upper_bound(start);
  const size_t end = next == frames.end() ? count : next->first;
  size_t below = 0;
  for (size_t i = start; i < end; i++) {
    if (isCall(code[i])) below = std::max(below, deepestFrom(i + 1 + code[i].imm, code, count, frames, known));
  }
  return known[start] = frames.at(start) + below;
}

/// Loads one program of the object alone. False where the kernel refuses it.
bool measure(const char* path, const std::string& name) {
  bpf_object* object = bpf_object__open_file(path, nullptr);
  std::string log(kLogBytes, 0);
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    bpf_program__set_autoload(program, name == bpf_program__name(program));
  }
  program = bpf_object__find_program_by_name(object, name.c_str());
  bpf_program__set_log_level(program, kFiguresOnly);
  bpf_program__set_log_buf(program, log.data(), log.size());
  const bool isLoaded = bpf_object__load(object) == 0;
  if (isLoaded) {
    const bpf_insn* code = bpf_program__insns(program);
    const size_t count = bpf_program__insn_cnt(program);
    const std::map<size_t, size_t> frames = framesOf(log, functionsOf(code, count));
    std::map<size_t, size_t> known;
    printf("%s %zu\n", name.c_str(), frames.empty() ? 0 : deepestFrom(0, code, count, frames, known));
  } else {
    fprintf(stderr, "%s is refused: %s\n", name.c_str(), log.c_str());
  }
  bpf_object__close(object);
  return isLoaded;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  std::vector<std::string> names;
  bpf_object* object = bpf_object__open_file(arguments[1], nullptr);
  if (!object) return 1;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) names.emplace_back(bpf_program__name(program));
  bpf_object__close(object);
  return std::ranges::all_of(names, [&](const std::string& name) { return measure(arguments[1], name); }) ? 0 : 1;
}
