// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "util/hash.h"

namespace polytop {

/// The hash of a number that is no hash itself: neighbours come far apart.
struct NumberHash {
  size_t operator()(uint64_t number) const { return number * kHashFactor >> 32; }
};

/**
 * A hash map in one piece of memory: no allocation for each entry, and mostly one cache line for a look-up.
 * No entry is ever taken out alone, which takes a new table. A value that is equal to Value{} marks a free place: none
 * must be put in.
 */
template <typename Key, typename Value, typename Hash>
class FlatMap {
 public:
  /// The value of a key; nullptr if there is none. It stays valid until the next add().
  const Value* find(const Key& key) const {
    if (places_.empty()) return nullptr;
    const Place& place = places_[placeOf(key)];
    return place.value == Value{} ? nullptr : &place.value;
  }

  /// The value of a key and whether it is new: then it must be set at once. It stays valid until the next add().
  std::pair<Value&, bool> add(const Key& key) {
    if (4 * (used_ + 1) > 3 * places_.size()) grow();
    Place& place = places_[placeOf(key)];
    const bool isNew = place.value == Value{};
    if (isNew) {
      place.key = key;
      used_++;
    }
    return {place.value, isNew};
  }

  size_t size() const { return used_; }

  /// Takes out all whose value `isKept` does not want, and gives the room back that is too much then.
  template <typename IsKept>
  void keepIf(IsKept isKept) {
    FlatMap kept;
    for (const Place& place : places_) {
      if (place.value != Value{} && isKept(place.value)) kept.add(place.key).first = place.value;
    }
    *this = std::move(kept);
  }

  /// Takes all out, and keeps the room.
  void clear() {
    if (used_) std::fill(places_.begin(), places_.end(), Place{});
    used_ = 0;
  }

 private:
  static constexpr size_t kFirstSize = 1024;

  struct Place {
    Key key;
    Value value;
  };

  /// Where the key is, or the free place where it belongs; at least a quarter is free.
  size_t placeOf(const Key& key) const {
    const size_t mask = places_.size() - 1;
    size_t at = Hash{}(key)&mask;
    while (places_[at].value != Value{} && !(places_[at].key == key)) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<Place> before(places_.empty() ? kFirstSize : 2 * places_.size());
    before.swap(places_);
    for (const Place& place : before) {
      if (place.value != Value{}) places_[placeOf(place.key)] = place;
    }
  }

  std::vector<Place> places_;  ///< a power of two
  size_t used_ = 0;
};

}  // namespace polytop
