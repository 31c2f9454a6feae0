// SPDX-License-Identifier: Apache-2.0
#include "drain/tasks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "util/clock.h"
#include "util/hash.h"

namespace polytop {

namespace {

/// The length of a name: what is behind its first zero byte says nothing.
template <typename Name>
size_t lengthOf(const Name& name) {
  return strnlen(reinterpret_cast<const char*>(&name), COMM_LENGTH);
}

template <typename Name>
Name nameOf(const char (&comm)[COMM_LENGTH]) {
  Name name = {};
  memcpy(name.data(), comm, lengthOf(comm));
  return name;
}

}  // namespace

size_t Tasks::Hash::operator()(const Key& key) const {
  const uint64_t ids = static_cast<uint64_t>(key.tgid) << 32 | key.tid;
  return mix(mix(ids, key.comm[0] ^ key.startTime), key.thread[0]);
}

uint32_t Tasks::number(const count_key& key, const count_value& value) {
  const Key task = {key.tgid,
                    key.tid,
                    value.parent,
                    value.uid,
                    value.cgroup,
                    value.start_time,
                    nameOf<Name>(value.comm),
                    nameOf<Name>(value.thread)};
  const auto [number, isNew] = numbers_.add(task);
  if (isNew) {
    number = static_cast<uint32_t>(numbers_.size());
    add(task);
  }
  return number - 1;
}

void Tasks::add(const Key& key) {
  news_.words.insert(news_.words.end(),
                     {key.tgid, key.tid, key.parent, key.uid, placeOf(key.comm), placeOf(key.thread)});
  news_.startTimes.push_back(static_cast<double>(key.startTime / kNanosecondsPerMillisecond));
  news_.cgroups.push_back(key.cgroup);
}

uint32_t Tasks::placeOf(const Name& name) {
  const auto [it, isNew] = places_.try_emplace(name, static_cast<uint32_t>(news_.names.size()));
  if (isNew) news_.names.emplace_back(reinterpret_cast<const char*>(name.data()), lengthOf(name));
  return it->second;
}

Tasks::News Tasks::take() {
  places_.clear();
  return std::exchange(news_, {});
}

void Tasks::renewIfFull(size_t counted) {
  // Threads that wait are not counted in each drain.
  mostCounted_ = std::max(counted, mostCounted_ - mostCounted_ / 16);
  if (numbers_.size() <= std::max(kFewTasks, kKeptDrains * mostCounted_)) return;
  numbers_ = {};
  take();
  news_.renewed = true;
}

}  // namespace polytop
