// SPDX-License-Identifier: Apache-2.0
#include "drain/tasks.h"

#include <cstring>

#include "util/hash.h"

namespace polytop {

namespace {

std::string commString(const char (&comm)[COMM_LENGTH]) { return {comm, strnlen(comm, COMM_LENGTH)}; }

}  // namespace

size_t Tasks::Hash::operator()(const Key& key) const {
  const uint64_t ids = static_cast<uint64_t>(key.tgid) << 32 | key.tid;
  return mix(mix(ids, key.comm[0]), key.comm[1]);
}

uint32_t Tasks::number(const count_key& key, const count_value& value, std::vector<TaskInfo>& into) {
  // Names end at their first zero byte; what is behind it says nothing.
  Key task = {key.tgid, key.tid, {}};
  memcpy(task.comm, value.comm, strnlen(value.comm, COMM_LENGTH));
  const auto [it, isNew] = numbers_.try_emplace(task, static_cast<uint32_t>(into.size()));
  if (isNew)
    into.push_back({key.tgid, key.tid, value.parent, value.uid, value.cgroup, value.start_time, commString(value.comm),
                    commString(value.thread)});
  return it->second;
}

}  // namespace polytop
