// SPDX-License-Identifier: Apache-2.0
// Delta debugging: a smallest part of something that still fails.
#pragma once

#include "runtime/base/Status.h"
#include <functional>
#include <vector>

namespace dlc::import {

using FailsWith = std::function<Result<bool>(const std::vector<int> &)>;

/// The algorithm ddmin of A. Zeller and R. Hildebrandt, "Simplifying and
/// Isolating Failure-Inducing Input", IEEE Transactions on Software Engineering
/// 28(2), 2002: parts and their complements, of ever smaller parts. `failing`
/// fails; so does the result, which without any one of its elements does not.
/// Asks at most about n^2 + 3n times, mostly n log n. Order is kept. An error
/// of `fails` ends it.
Result<std::vector<int>> ddmin(std::vector<int> failing,
                               const FailsWith &fails);

} // namespace dlc::import
