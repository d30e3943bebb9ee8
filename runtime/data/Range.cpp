// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/Range.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/numbers/ParseNumber.h"

namespace dlc {

Result<std::vector<std::string>> expandRange(const std::string &path) {
  const size_t open = path.find('{'), dots = path.find("..", open),
               close = path.find('}', open);
  if (open == path.npos || exists(path))
    return std::vector{path};
  const auto read = [&](size_t from, size_t to) {
    return to == path.npos || to < from
               ? -1
               : asNumber<int64_t>(path.substr(from, to - from)).value_or(-1);
  };
  const int64_t first = read(open + 1, dots), last = read(dots + 2, close);
  if (dots == path.npos || first < 0 || first > last ||
      last - first >= kMaxRange)
    return usageError("'{}': expected a range of at most {} numbers, as in "
                      "train-{{000..127}}.tar",
                      printable(path), kMaxRange);
  const size_t digits = dots - open - 1;
  std::vector<std::string> paths;
  for (int64_t i = first; i <= last; ++i)
    paths.push_back(fmt::format("{}{:0{}}{}", path.substr(0, open), i, digits,
                                path.substr(close + 1)));
  return paths;
}

} // namespace dlc
