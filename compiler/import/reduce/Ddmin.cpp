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
    bool isReduced = false;
    for (const bool complement : {false, true}) {
      if (complement && count == 2)
        break; // the other half, already tested
      for (size_t i = 0; i < count && !isReduced; ++i) {
        const auto [first, last] = boundsOfPart(failing.size(), i, count);
        std::vector<int> part(failing.begin() + ptrdiff_t(first),
                              failing.begin() + ptrdiff_t(last));
        if (complement) {
          part = failing;
          part.erase(part.begin() + ptrdiff_t(first),
                     part.begin() + ptrdiff_t(last));
        }
        DLC_ASSIGN(isReduced, fails(part));
        if (isReduced)
          failing = std::move(part);
      }
      if (isReduced) {
        count = complement ? std::max<size_t>(count - 1, 2) : 2;
        break;
      }
    }
    if (isReduced)
      continue;
    if (count >= failing.size())
      break;
    count = std::min(2 * count, failing.size());
  }
  return failing;
}

} // namespace dlc::import
