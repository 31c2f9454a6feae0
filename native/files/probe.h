// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bpf/abi.h"
#include "kernel/session.h"
#include "merge/native_role.h"
#include "util/wire.h"

namespace polytop {

/// What the readers of an interpreter's frames must know of a file that holds it.
struct InterpreterInfo {
  interpreter_kind kind = INTERPRETER_NONE;
  std::string warning;                 ///< what its user must know: why its frames stay native
  std::vector<code_range> evaluation;  ///< the code that carries out a program

  /// Whether the code at an offset of the file does.
  bool evaluates(uint64_t offset) const {
    return std::any_of(evaluation.begin(), evaluation.end(),
                       [offset](const code_range& code) { return offset >= code.start && offset < code.end; });
  }
};

/// The interpreter or language runtime in a file. What JavaScript is told of it is interpreter(), or is read from the
/// class of the runtime (js/).
class FoundRuntime {
 public:
  virtual ~FoundRuntime() = default;
  /// Null where the class of the runtime says more than that.
  virtual const InterpreterInfo* interpreter() const { return nullptr; }
  /// What the code at an offset of the file is to its interpreter, where that has a say in the places of frames.
  virtual NativeRole roleOf(uint64_t /*offset*/) const { return {}; }
  /// Writes what the walk must know into the maps and into the entry of the file, a file of the user `owner`, before
  /// the walk finds the file. False if there is no room left for that user's: frames of the runtime are not shown then.
  virtual bool publish(uint32_t fileId, uint32_t owner, file_entry& visible) = 0;
  /// Takes that back when no walk can use it any more, so that others have the room.
  virtual void withdraw(uint32_t fileId) = 0;
};

/// Takes what the finder of a runtime (parser/finder.h) says of a file.
class RuntimeProbe {
 public:
  virtual ~RuntimeProbe() = default;
  /// Null where that is not sound. Any thread may call it, also several at once.
  virtual std::unique_ptr<FoundRuntime> take(WireReader& facts) = 0;
};

/// All of them, in the order of the finders (parser/program/parse_file.cpp). The session must outlive them and they
/// what they take.
std::vector<std::unique_ptr<RuntimeProbe>> makeProbes(const Session& session);

}  // namespace polytop
