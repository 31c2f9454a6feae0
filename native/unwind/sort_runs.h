// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace polytop {

/// Where each run of values that are in order already ends.
template <typename T, typename Before>
std::vector<size_t> endsOfRuns(const std::vector<T>& values, Before before) {
  std::vector<size_t> ends;
  for (size_t i = 1; i <= values.size(); i++) {
    if (i == values.size() || before(values[i], values[i - 1])) ends.push_back(i);
  }
  return ends;
}

/// Sorts values most of which are in order already, by merging the runs that are (Knuth, TAOCP 3, 5.2.4, algorithm N):
/// equal ones keep their order. Takes as much memory again where there is more than one run.
template <typename T, typename Before>
void sortRuns(std::vector<T>& values, Before before) {
  std::vector<size_t> ends = endsOfRuns(values, before);
  std::vector<T> merged(ends.size() > 1 ? values.size() : 0);
  while (ends.size() > 1) {
    const auto at = [&](size_t place) { return values.begin() + static_cast<ptrdiff_t>(place); };
    std::vector<size_t> longer;
    auto to = merged.begin();
    size_t begin = 0;
    for (size_t run = 0; run < ends.size(); run += 2) {
      const size_t middle = ends[run], end = ends[std::min(run + 1, ends.size() - 1)];
      to = std::merge(at(begin), at(middle), at(middle), at(end), to, before);
      longer.push_back(end);
      begin = end;
    }
    values.swap(merged);
    ends.swap(longer);
  }
}

}  // namespace polytop
