// SPDX-License-Identifier: Apache-2.0
// Numbered file names.
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dlc {

// Expands "train-{000..127}.tar" in order, with the same number of digits;
// `path` itself if it has no braces or exists. Code::Usage for a descending
// range, or one of more than kMaxRange.
constexpr int64_t kMaxRange = 60000;
Result<std::vector<std::string>> expandRange(const std::string &path);

} // namespace dlc
