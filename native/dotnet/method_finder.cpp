// SPDX-License-Identifier: Apache-2.0
#include "dotnet/method_finder.h"

#include "util/failure.h"
#include "util/sealed_file.h"

namespace polytop {

MethodList MethodFinder::find(uint32_t owner, uint32_t functions, Table instances,
                              const std::vector<Table>& definitions) {
  Parser& parser = owner == 0 ? ofRoot_ : ofUsers_;
  // Behind others it may take any time, and who asks waits.
  if (!parser.mayHasten(owner)) throw Failure("images of its user take too long to read");
  MethodQuery query = {functions, static_cast<uint32_t>(instances.size()), {}};
  std::vector<Table> tables = {instances};
  for (const Table table : definitions) {
    query.definitions.push_back(static_cast<uint32_t>(table.size()));
    tables.push_back(table);
  }
  const FileDescriptor file = sealedFile(tables);
  const std::vector<uint8_t> answer = parser.ask(ParseTask::kMethods, owner, {file.get()}, encodeMethodQuery(query));
  MethodList list;
  if (!decodeMethods(answer, functions, list)) throw Failure("its parser says what cannot be");
  return list;
}

}  // namespace polytop
