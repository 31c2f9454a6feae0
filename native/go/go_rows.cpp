// SPDX-License-Identifier: Apache-2.0
#include "go/go_rows.h"

#include <algorithm>
#include <string_view>

#include "arch/arch.h"
#include "go/go_table.h"

namespace polytop {
namespace {

/// The function that they call never returns to what called them: it chooses what the thread does next
/// (runtime/asm_*.s of Go 1.18 to 1.26, as for the following).
constexpr std::string_view kSchedulers[] = {"runtime.mcall"};
/// They go on on another stack: a goroutine's that is chosen, the thread's.
constexpr std::string_view kSwitches[] = {"gogo", "runtime.morestack"};
/// Go calls C, on the stack of its thread; C calls Go, on that of the goroutine which called it; a goroutine calls the
/// runtime, on the stack of its thread.
constexpr std::string_view kCallsOfC[] = {"runtime.asmcgocall"};
constexpr std::string_view kCallsBack[] = {"runtime.cgocallback"};
constexpr std::string_view kSystemStacks[] = {"runtime.systemstack"};

/// No stack is deeper: runtime/proc.go sets 1 GB, and runtime.call1073741824 (runtime/asm_*.s) takes as much beside
/// some words of its own.
constexpr int32_t kMaxDepth = (1 << 30) + 1024;
/// What a row takes here, and again where it has got its place in the file.
constexpr uint64_t kRowBytes = 2 * sizeof(GoRow);

/// They ask the vDSO for the time on their thread's stack, and keep a frame pointer on the goroutine's
/// (runtime/sys_linux_*.s and time_linux_*.s of Go 1.18 to 1.26).
constexpr std::string_view kClocks[] = {"time.now", "runtime.nanotime1", "runtime.walltime"};
/// The new thread goes on in it, on a stack of its own. With cgo it was C that made it, and calls the second.
constexpr std::string_view kThreadStarts[] = {"runtime.clone", "runtime.mstart"};
/// Its child shares the stack, and would overwrite the return address: it is popped into a register for the system call
/// (syscall/asm_linux_*.s).
constexpr std::string_view kVforks[] = {"syscall.rawVforkSyscall"};
/// Far more than any function has that is looked into here.
constexpr uint32_t kMaxCode = 4096;
/// Code is read in pieces of so many bytes.
constexpr uint64_t kCodePiece = 256 << 10;

/// The code of a file, from its start to its end.
class CodeReader {
 public:
  explicit CodeReader(const ElfImage& file) : file_(file) {}

  /// Up to `size` bytes at an address; fewer, or none, where the file has no more.
  arch::Code at(uint64_t address, uint64_t size) {
    if (address < address_ || address + size > address_ + bytes_.size()) {
      uint64_t offset = 0;
      address_ = address;
      bytes_.clear();
      if (file_.addressToOffset(address, offset)) bytes_ = file_.read(offset, std::max(size, kCodePiece));
    }
    return arch::Code(bytes_)
        .subspan(0, std::min<uint64_t>(address - address_ + size, bytes_.size()))
        .subspan(std::min<uint64_t>(address - address_, bytes_.size()));
  }

 private:
  const ElfImage& file_;
  uint64_t address_ = 0;
  std::vector<uint8_t> bytes_;
};

template <size_t count>
bool isOneOf(const std::string_view (&names)[count], const GoTable& table, const GoTable::Function& function) {
  return std::any_of(std::begin(names), std::end(names),
                     [&](std::string_view name) { return table.isNamed(function, name); });
}

/// Makes the rows of one function.
class FunctionRows {
 public:
  FunctionRows(const ElfImage& file, const GoTable& table, const GoTable::Function& function, uint32_t end,
               CodeReader& code, GoRows& into)
      : file_(file), table_(table), function_(function), end_(end), code_(code), into_(into) {}

  /// A row for each depth of the stack, of the kind `frame`; of the kind `popped` where the return address is gone.
  void addDepths(GoFrame frame, GoFrame popped = GoFrame::kUnknown) {
    eachDepth([&](uint32_t from, uint32_t, int32_t depth) { addDepth(from, depth < 0 ? popped : frame, depth); });
  }

  /// As addDepths(), but where the frame is whole, its frame pointer tells the caller, whatever stack sp is of; not in
  /// the instructions that set the frame pointer, and behind the one that restores it.
  void addFramed() {
    eachDepth([&](uint32_t from, uint32_t to, int32_t depth) {
      addDepth(from, GoFrame::kDepth, depth);
      const arch::Code code = read(from, to);
      if (!savesFp_ || code.empty()) return;
      add(from + static_cast<uint32_t>(arch::behindFpSetUp(code)), GoFrame::kFp, 0);
      const size_t restored = arch::behindFpRestored(code);
      if (restored != code.size()) addDepth(from + static_cast<uint32_t>(restored), GoFrame::kDepth, depth);
    });
  }

  void addCallOfC() {
    const auto call = arch::findGoCallOfC(read(function_.entry, end_));
    if (!call) return add(function_.entry, GoFrame::kElsewhere, 0);
    int32_t depth = 0;
    bool savesFp = false;
    eachDepth([&](uint32_t from, uint32_t, int32_t value) {
      addDepth(from, GoFrame::kDepth, value);
      if (from - function_.entry > call->parts[0].copied) return;
      depth = value;
      savesFp = savesFp_;
    });
    savesFp_ = savesFp;
    into_.callOfC = *call;
    for (const arch::OnOtherStack& part : call->parts) {
      add(function_.entry + static_cast<uint32_t>(part.copied), GoFrame::kCopiedSp, depth);
      add(function_.entry + static_cast<uint32_t>(part.stored), GoFrame::kCallsC, depth);
      add(function_.entry + static_cast<uint32_t>(part.restored), GoFrame::kDepth, depth);
    }
  }

  void addSystemStack() {
    const arch::Code code = read(function_.entry, end_);
    // From Go 1.21 on it has a frame.
    if (!code.empty() && arch::isBehindFpPush(code[0], code.subspan(1))) return addFramed();
    const auto stack = arch::findGoSystemStack(code);
    if (!stack) return add(function_.entry, GoFrame::kElsewhere, 0);
    addDepths(GoFrame::kDepth);
    add(function_.entry + static_cast<uint32_t>(stack->begin), GoFrame::kWorksFor, 0);
    into_.systemStack = *stack;
    add(function_.entry + static_cast<uint32_t>(stack->end), GoFrame::kDepth, 0);
  }

  void addOne(GoFrame frame) { add(function_.entry, frame, 0); }

 private:
  /// Code of the function; none where it has too much.
  arch::Code read(uint32_t from, uint32_t to) {
    return to - from > kMaxCode ? arch::Code() : code_.at(table_.start() + from, to - from);
  }

  template <typename Row>
  void eachDepth(Row row) {
    GoTable::Values values = table_.depths(function_);
    uint32_t from = function_.entry;
    savesFp_ = false;
    while (function_.depths != 0 && from < end_ && table_.next(values)) {
      if (values.value < -arch::kWordBytes || values.value > kMaxDepth || values.value % arch::kWordBytes != 0) break;
      file_.budget().takeBytes(kRowBytes);
      row(from, std::min(values.end, end_), values.value);
      from = values.end;
    }
    if (from < end_) add(from, GoFrame::kUnknown, 0);
  }

  /// Adds a row for a depth, or two, where its first instruction saves the fp of the caller. From there on savesFp_.
  void addDepth(uint32_t from, GoFrame frame, int32_t depth) {
    if (savesFp_ || depth < arch::kWordBytes || from == function_.entry) return add(from, frame, depth);
    const arch::Code code = code_.at(table_.start() + from - 1, 1 + arch::kFpSaveBytes);
    if (code.empty()) return add(from, frame, depth);
    savesFp_ = arch::isBehindFpPush(code[0], code.subspan(1));
    add(from, frame, depth);
    const size_t length = savesFp_ ? 0 : arch::fpSaveLength(code.subspan(1), depth);
    if (length == 0) return;
    savesFp_ = true;
    add(from + static_cast<uint32_t>(length), frame, depth);
  }

  void add(uint32_t from, GoFrame frame, int32_t depth) {
    const bool savesFp = savesFp_ && depth >= arch::kWordBytes;
    into_.rows.push_back({table_.start() + from, depth, frame, from == function_.entry, savesFp});
  }

  const ElfImage& file_;
  const GoTable& table_;
  const GoTable::Function& function_;
  const uint32_t end_;
  CodeReader& code_;
  GoRows& into_;
  bool savesFp_ = false;  ///< the code that was passed saved the caller's fp
};

}  // namespace

GoRows readGoRows(const ElfImage& file) {
  GoRows made;
  const GoTable table(file);
  if (!table.valid()) return made;
  CodeReader code(file);
  for (uint32_t i = 0; i < table.size(); i++) {
    GoTable::Function function = {};
    uint32_t end = 0;
    if (!table.function(i, function, end)) continue;
    FunctionRows one(file, table, function, end, code, made);
    const auto is = [&](const auto& names) { return isOneOf(names, table, function); };
    if (is(kThreadStarts)) {
      one.addDepths(GoFrame::kStart);
    } else if (is(kSchedulers) || is(arch::kGoEntryFunctions) || table.isOutermost(i)) {
      one.addOne(GoFrame::kEnd);
    } else if (is(kSwitches)) {
      one.addOne(GoFrame::kElsewhere);
    } else if (is(kCallsOfC)) {
      one.addCallOfC();
    } else if (is(kSystemStacks)) {
      one.addSystemStack();
    } else if (is(kClocks) || is(kCallsBack)) {
      one.addFramed();
    } else {
      one.addDepths(GoFrame::kDepth, is(kVforks) ? GoFrame::kRegister : GoFrame::kUnknown);
    }
    made.rows.push_back({table.start() + end, 0, GoFrame::kUnknown, false, false});
    file.budget().takeBytes(kRowBytes);
  }
  std::stable_sort(made.rows.begin(), made.rows.end(),
                   [](const GoRow& left, const GoRow& right) { return left.address < right.address; });
  return made;
}

}  // namespace polytop
