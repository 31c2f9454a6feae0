// SPDX-License-Identifier: Apache-2.0
//
// A walk of a stopped thread's stack by the tables of its files and, beside it, by rows that are made of instructions.
#pragma once

#include <fcntl.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "code/code_rows.h"
#include "table_search.h"

namespace polytop {

struct WalkCounts {
  uint64_t walks = 0, whole = 0;  ///< and those that went from the leaf to the end by rows of instructions alone
  uint64_t frames = 0, told = 0;  ///< and those that have rows of instructions
  uint64_t wrong = 0;             ///< of these: another return address, a missed end or a made-up one
  uint64_t lost = 0;              ///< walks that the files' own tables do not lead to an end
};

/// The mapped code of a process, with both tables of each file.
class TwoTables {
 public:
  struct Code {
    uint64_t begin, end, offset;
    std::string path;
    const UnwindTable *table = nullptr, *made = nullptr;
  };

  explicit TwoTables(pid_t pid) : pid_(pid) {}

  /// The code that holds an address; null if that is none of a file.
  const Code* find(uint64_t address) {
    const Code* code = lookUp(address);
    if (code == nullptr) {
      readMappings();
      code = lookUp(address);
    }
    return code;
  }
  const unwind_rule& operator[](uint32_t rule) const { return all_[rule]; }

 private:
  struct Tables {
    UnwindTable table, made;
  };

  const Code* lookUp(uint64_t address) const {
    const auto above = code_.upper_bound(address);
    if (above == code_.begin() || address >= std::prev(above)->second.end) return nullptr;
    return &std::prev(above)->second;
  }

  void readMappings() {
    code_.clear();
    const std::string name = "/proc/" + std::to_string(pid_) + "/maps";
    const std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen(name.c_str(), "re"), std::fclose);
    if (!maps) return;
    char line[4352], path[4097];
    while (std::fgets(line, sizeof(line), maps.get()) != nullptr) {
      unsigned long begin = 0, end = 0, offset = 0;
      char access[5];
      path[0] = 0;
      if (std::sscanf(line, "%lx-%lx %4s %lx %*s %*s %4096s", &begin, &end, access, &offset, path) < 4) continue;
      if (access[2] != 'x' || path[0] != '/') continue;
      const Tables& tables = tablesOf(path);
      code_[begin] = {begin, end, offset, path, &tables.table, &tables.made};
    }
  }

  const Tables& tablesOf(const std::string& path) {
    std::unique_ptr<Tables>& known = tables_[path];
    if (known) return *known;
    known = std::make_unique<Tables>();
    std::string error;
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (const auto image = ElfImage::open(fd, error)) {
      known->table = buildUnwindTable(*image, rules_);
      addCodeRows(*image, known->made, rules_);
      all_ = rules_.all();
    }
    close(fd);
    return *known;
  }

  const pid_t pid_;
  RuleSet rules_;
  std::vector<unwind_rule> all_;
  std::map<uint64_t, Code> code_;
  std::map<std::string, std::unique_ptr<Tables>> tables_;
};

/// Walks stacks of threads that stand still.
class TwoWalks {
 public:
  explicit TwoWalks(pid_t pid) : pid_(pid), tables_(pid) {}

  const WalkCounts& counts() const { return counts_; }

  void walk(const user_regs_struct& registers) {
    Frame frame{registers.rip, registers.rsp, registers.rbp, registers.rbx, true, true};
    registers_ = &registers;
    stackStart_ = registers.rsp - kRedZone;
    stack_.resize(kStackBytes);
    iovec to{stack_.data(), stack_.size()}, from{reinterpret_cast<void*>(stackStart_), stack_.size()};
    const ssize_t got = process_vm_readv(pid_, &to, 1, &from, 1, 0);
    stack_.resize(got > 0 ? static_cast<size_t>(got) : 0);
    counts_.walks++;
    Frame made = frame;
    bool isWhole = true, isLeaf = true;
    for (int depth = 0; depth < kMostFrames; depth++, isLeaf = false) {
      const uint64_t address = frame.isExact ? frame.ip : frame.ip - 1;
      const TwoTables::Code* code = tables_.find(address);
      if (code == nullptr) break;
      const uint64_t place = address - code->begin + code->offset;
      const uint32_t theirs = ruleAt(*code->table, place), ours = ruleAt(*code->made, place);
      Frame next = frame, madeNext = made;
      const Step step = theirs == kNoRule ? Step::kLost : stepBy(tables_[theirs], isLeaf, next);
      counts_.frames++;
      counts_.told += ours != kNoRule;
      isWhole &= ours != kNoRule;
      if (step == Step::kLost) break;
      if (ours != kNoRule) {
        const Step madeStep = stepBy(tables_[ours], isLeaf, madeNext);
        const bool isSame =
            madeStep == step && (step == Step::kEnds || (next.ip == madeNext.ip && next.sp == madeNext.sp));
        if (!isSame) tellWrong(*code, place, depth, theirs, ours);
        if (!isSame) madeNext = next;
      } else {
        madeNext = next;
      }
      if (step == Step::kEnds) {
        counts_.whole += isWhole;
        return;
      }
      frame = next;
      made = madeNext;
    }
    counts_.lost++;
  }

 private:
  struct Frame {
    uint64_t ip, sp, fp, base;
    bool isExact;  ///< the instruction that runs next, and not the one behind a call
    bool isBaseKnown;
  };
  enum class Step { kGoesOn, kEnds, kLost };
  static constexpr size_t kStackBytes = 1 << 18;
  static constexpr uint64_t kRedZone = 128;
  static constexpr int kMostFrames = 512;
  static constexpr uint64_t kLeastWrongShown = 40;

  uint64_t read(uint64_t address) const {
    uint64_t value = 0;
    if (address - stackStart_ <= stack_.size() && stack_.size() - (address - stackStart_) >= sizeof(value)) {
      std::memcpy(&value, stack_.data() + (address - stackStart_), sizeof(value));
    } else {
      iovec to{&value, sizeof(value)}, from{reinterpret_cast<void*>(address), sizeof(value)};
      process_vm_readv(pid_, &to, 1, &from, 1, 0);
    }
    return value;
  }

  uint64_t valueOf(uint32_t number) const {
    const user_regs_struct& at = *registers_;
    const unsigned long long all[] = {at.rax, at.rdx, at.rcx, at.rbx, at.rsi, at.rdi, at.rbp, at.rsp,
                                      at.r8,  at.r9,  at.r10, at.r11, at.r12, at.r13, at.r14, at.r15};
    return number < std::size(all) ? all[number] : 0;
  }

  /// Goes to the caller as bpf/unwind/native.h does.
  Step stepBy(const unwind_rule& rule, bool isLeaf, Frame& frame) const {
    uint64_t cfa = 0;
    switch (rule.cfa) {
      case CFA_SP:
      case CFA_START:
        cfa = frame.sp + rule.cfa_offset;
        break;
      case CFA_FP:
        cfa = frame.fp + rule.cfa_offset;
        break;
      case CFA_REGISTER:
        if (!isLeaf) return Step::kLost;
        cfa = valueOf(rule.cfa_register) + rule.cfa_offset;
        break;
      case CFA_DEREF_SP:
        cfa = read(frame.sp + rule.cfa_offset) + rule.cfa_addend;
        break;
      case CFA_DEREF_FP:
        cfa = read(frame.fp + rule.cfa_offset) + rule.cfa_addend;
        break;
      case CFA_BASE:
        if (!frame.isBaseKnown) return Step::kLost;
        cfa = frame.base + rule.cfa_offset;
        break;
      case CFA_PLT:
        cfa = frame.sp + (static_cast<int32_t>(frame.ip % 16) >= rule.cfa_offset ? 16 : 8);
        break;
      case CFA_SIGNAL: {
        const uint64_t context = frame.sp + rule.cfa_offset;
        frame.fp = read(context + arch::kContextFp);
        frame.ip = read(context + arch::kContextIp);
        frame.sp = read(context + arch::kContextSp);
        frame.isExact = true;
        frame.isBaseKnown = false;
        return Step::kGoesOn;
      }
      case CFA_END:
        return Step::kEnds;
      default:
        return Step::kLost;
    }
    const bool isInRegister = rule.ra_register != 0;
    if (isInRegister && !isLeaf) return Step::kLost;
    frame.ip = isInRegister ? valueOf(rule.ra_register - 1U) : read(cfa + rule.ra_offset);
    if (rule.cfa == CFA_START && !isBehindCall(frame.ip)) return Step::kEnds;
    if (rule.fp == FP_CFA) frame.fp = read(cfa + rule.fp_offset);
    if (rule.fp == FP_DEREF_FP) frame.fp = read(frame.fp + rule.fp_offset);
    if (rule.base >= 2) frame.base = read(cfa - rule.base * sizeof(uint64_t));
    frame.isBaseKnown = rule.base >= 2 || (rule.base == BASE_SAME && frame.isBaseKnown);
    frame.sp = cfa;
    frame.isExact = false;
    return frame.ip == 0 ? Step::kEnds : Step::kGoesOn;
  }

  bool isBehindCall(uint64_t address) const {
    uint64_t code = read(address - sizeof(uint64_t));
    const auto byte = [&](uint32_t behind) { return static_cast<uint8_t>(code >> (64 - 8 * behind)); };
    return byte(5) == 0xe8 || byte(2) == 0xff || byte(3) == 0xff || byte(6) == 0xff || byte(7) == 0xff;
  }

  void tellWrong(const TwoTables::Code& code, uint64_t place, int depth, uint32_t theirs, uint32_t ours) {
    if (++counts_.wrong > kLeastWrongShown) return;
    const unwind_rule &table = tables_[theirs], &made = tables_[ours];
    std::printf("  %s+0x%lx, frame %d: cfa %d%+d fp %d%+d | cfa %d%+d fp %d%+d\n", code.path.c_str(), place, depth,
                table.cfa, table.cfa_offset, table.fp, table.fp_offset, made.cfa, made.cfa_offset, made.fp,
                made.fp_offset);
  }

  const pid_t pid_;
  TwoTables tables_;
  WalkCounts counts_;
  const user_regs_struct* registers_ = nullptr;
  std::vector<uint8_t> stack_;
  uint64_t stackStart_ = 0;
};

}  // namespace polytop
