// SPDX-License-Identifier: Apache-2.0
#include "go/go_rows.h"

#include <algorithm>
#include <string_view>

#include "arch/arch.h"
#include "go/go_table.h"

namespace polytop {
namespace {

/// From a goroutine's stack to its thread's and back (runtime/asm_*.s of Go 1.18 to 1.26).
constexpr std::string_view kStackSwitches[] = {"runtime.systemstack", "runtime.mcall",       "runtime.morestack",
                                               "runtime.asmcgocall",  "runtime.cgocallback", "gogo"};

/// No stack is deeper: runtime/proc.go sets 1 GB, and runtime.call1073741824 (runtime/asm_*.s) takes as much beside
/// some words of its own.
constexpr int32_t kMaxDepth = (1 << 30) + 1024;
/// What a row takes here, and again where it has got its place in the file.
constexpr uint64_t kRowBytes = 2 * sizeof(GoRow);

/// They ask the vDSO for the time on their thread's stack, and keep a frame pointer on the goroutine's
/// (runtime/sys_linux_*.s and time_linux_*.s of Go 1.18 to 1.26).
constexpr std::string_view kClocks[] = {"time.now", "runtime.nanotime1", "runtime.walltime"};
/// The new thread goes on in it, on a stack of its own.
constexpr std::string_view kThreadStarts[] = {"runtime.clone"};
/// Its child shares the stack, and would overwrite the return address: it is popped into a register for the system call
/// (syscall/asm_linux_*.s).
constexpr std::string_view kVforks[] = {"syscall.rawVforkSyscall"};
/// Far more than any function of kClocks has.
constexpr uint32_t kMaxClockCode = 4096;

template <size_t count>
bool isOneOf(const std::string_view (&names)[count], const GoTable& table, const GoTable::Function& function) {
  return std::any_of(std::begin(names), std::end(names),
                     [&](std::string_view name) { return table.isNamed(function, name); });
}

/// Adds a row for each depth of the stack in the function, of the kind that `frame` says of the row's code.
template <typename Frame>
void addDepths(const GoTable& table, const GoTable::Function& function, uint32_t end, Budget& budget,
               std::vector<GoRow>& rows, Frame frame) {
  GoTable::Values values = table.depths(function);
  uint32_t from = function.entry;
  while (function.depths != 0 && from < end && table.next(values)) {
    if (values.value < -arch::kWordBytes || values.value > kMaxDepth || values.value % arch::kWordBytes != 0) break;
    budget.takeBytes(kRowBytes);
    frame(from, std::min(values.end, end), values.value);
    from = values.end;
  }
  if (from < end) rows.push_back({table.start() + from, GoFrame::kUnknown, 0, from == function.entry});
}

/// Adds the rows of a function of kClocks. Where its frame is whole, its frame pointer tells the caller, whatever stack
/// sp is of; but for the instructions that set the frame pointer, and those behind the one that restores it.
void addClock(const ElfImage& file, const GoTable& table, const GoTable::Function& function, uint32_t end,
              std::vector<GoRow>& rows) {
  uint64_t offset = 0;
  if (end - function.entry > kMaxClockCode || !file.addressToOffset(table.start() + function.entry, offset)) return;
  const std::vector<uint8_t> code = file.read(offset, end - function.entry);
  const auto add = [&](uint32_t from, GoFrame frame, int32_t depth) {
    rows.push_back({table.start() + from, frame, depth, from == function.entry});
  };
  addDepths(table, function, end, file.budget(), rows, [&](uint32_t from, uint32_t to, int32_t depth) {
    add(from, GoFrame::kDepth, depth);
    if (depth < 2 * arch::kWordBytes || to - function.entry > code.size()) return;
    const uint8_t* begin = code.data() + (from - function.entry);
    const uint8_t* stop = code.data() + (to - function.entry);
    add(from + static_cast<uint32_t>(arch::behindFpSetUp(begin, stop) - begin), GoFrame::kFp, 0);
    const uint8_t* restored = arch::behindFpRestored(begin, stop);
    if (restored != stop) add(from + static_cast<uint32_t>(restored - begin), GoFrame::kDepth, depth);
  });
}

}  // namespace

std::vector<GoRow> readGoRows(const ElfImage& file) {
  std::vector<GoRow> rows;
  const GoTable table(file);
  if (!table.valid()) return rows;
  for (uint32_t i = 0; i < table.size(); i++) {
    GoTable::Function function = {};
    uint32_t end = 0;
    if (!table.function(i, function, end)) continue;
    const auto plain = [&](GoFrame frame) {
      const GoFrame popped = isOneOf(kVforks, table, function) ? GoFrame::kRegister : GoFrame::kUnknown;
      addDepths(table, function, end, file.budget(), rows, [&](uint32_t from, uint32_t, int32_t depth) {
        rows.push_back({table.start() + from, depth < 0 ? popped : frame, depth, from == function.entry});
      });
    };
    if (isOneOf(kStackSwitches, table, function) || isOneOf(arch::kGoEntryFunctions, table, function) ||
        table.isOutermost(i)) {
      rows.push_back({table.start() + function.entry, GoFrame::kEnd, 0, true});
    } else if (isOneOf(kClocks, table, function)) {
      addClock(file, table, function, end, rows);
    } else {
      plain(isOneOf(kThreadStarts, table, function) ? GoFrame::kStart : GoFrame::kDepth);
    }
    rows.push_back({table.start() + end, GoFrame::kUnknown, 0, false});
    file.budget().takeBytes(kRowBytes);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const GoRow& left, const GoRow& right) { return left.address < right.address; });
  return rows;
}

}  // namespace polytop
