// SPDX-License-Identifier: Apache-2.0
//
// Op trees of a Perl program: the input is the memory that they lie in, again and again over all addresses.
#include <vector>

#include "harness.h"
#include "perl/perl_statements.h"

namespace polytop::fuzz {

namespace {

constexpr uint32_t kStatement = 195;  // any number
constexpr uint64_t kFirst = 64;       ///< nothing lies at the lowest addresses
constexpr uint64_t kOp = 64;

}  // namespace

/// The first two bytes say after how many reads the process has ended, the third what is written into its memory
/// between two refreshes.
void tryPerl(Input input) {
  if (input.size() < 4) return;
  int readsLeft = input[0] | (input[1] & 1) << 8;
  std::vector<uint8_t> memory(input.begin() + 3, input.end());
  const ReadMemory read = [&](uint64_t address, void* into, size_t size) {
    if (address < kFirst || readsLeft-- <= 0) return false;
    auto* bytes = static_cast<uint8_t*>(into);
    for (size_t i = 0; i < size; i++) bytes[i] = memory[(address - kFirst + i) % memory.size()];
    return true;
  };
  const IsStatement isStatement = [](uint32_t number) { return number == kStatement; };
  PerlStatements statements(2, 64);
  // In the last two refreshes what was met long ago is met again.
  for (const int count : {2, 2, 4, 1, 3}) {
    statements.beginRefresh();
    for (uint64_t address = kFirst; address < kFirst + static_cast<uint64_t>(count) * kOp; address += kOp) {
      if (statements.find(1, address)) continue;
      const bool isRead = statements.look(1, address, read, isStatement);
      // Its process may write to it before it is looked at once more.
      if (input[0] & 1) memory[input[2] % memory.size()]++;
      for (PerlStatements::Unconfirmed& it : statements.unconfirmed()) read(it.address, it.cop, sizeof it.cop);
      statements.confirm();
      const PerlStatement* statement = statements.find(1, address);
      mustHold(!statement || isRead, "a statement that is known was read");
      if (statement) statement->lineOf({address, address + kOp, false});
    }
    memory[input[2] % memory.size()]++;
  }
}

}  // namespace polytop::fuzz
