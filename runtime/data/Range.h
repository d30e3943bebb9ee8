// SPDX-License-Identifier: Apache-2.0
// Files that are numbered.
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dlc {

// The paths that "train-{000..127}.tar" means, in order, with as many digits;
// `path` itself if it has no braces or is there as it is. Code::Usage for a
// range that goes back, or of more than kMaxRange.
constexpr int64_t kMaxRange = 60000;
Result<std::vector<std::string>> expandRange(const std::string &path);

} // namespace dlc
