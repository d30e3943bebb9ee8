// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/reduce/Ddmin.h"
#include <algorithm>

namespace dlc::import {
namespace {

/// Bounds of part `i` of `count` parts of almost equal length.
std::pair<size_t, size_t> boundsOfPart(size_t size, size_t i, size_t count) {
  return {size * i / count, size * (i + 1) / count};
}

} // namespace

Result<std::vector<int>> ddmin(std::vector<int> failing,
                               const FailsWith &fails) {
  size_t count = 2;
  while (failing.size() >= 2) {
    bool isReduced = false, complement = false;
    // The complement of a half is the other half, already tested.
    const size_t tests = count == 2 ? count : 2 * count;
    for (size_t i = 0; i < tests && !isReduced; ++i) {
      complement = i >= count;
      const auto [first, last] = boundsOfPart(failing.size(), i % count, count);
      const auto begin = failing.begin() + ptrdiff_t(first),
                 end = failing.begin() + ptrdiff_t(last);
      std::vector<int> part(begin, end);
      if (complement) {
        part.assign(failing.begin(), begin);
        part.insert(part.end(), end, failing.end());
      }
      DLC_ASSIGN(isReduced, fails(part));
      if (isReduced)
        failing = std::move(part);
    }
    if (isReduced)
      count = complement ? std::max<size_t>(count - 1, 2) : 2;
    else if (count >= failing.size())
      break;
    else
      count = std::min(2 * count, failing.size());
  }
  return failing;
}

} // namespace dlc::import
