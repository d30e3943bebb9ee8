// SPDX-License-Identifier: Apache-2.0
// Delta debugging: finds a minimal failing subset.
#pragma once

#include "runtime/base/Status.h"
#include <functional>
#include <vector>

namespace dlc::import {

using FailsWith = std::function<Result<bool>(const std::vector<int> &)>;

/// The algorithm ddmin of A. Zeller and R. Hildebrandt, "Simplifying and
/// Isolating Failure-Inducing Input", IEEE Transactions on Software Engineering
/// 28(2), 2002: tests subsets and complements of ever finer partitions.
/// `failing` fails; the result fails too, but not without any one of its
/// elements. Makes at most about n^2 + 3n tests, usually n log n. Keeps the
/// order. An error of `fails` is returned.
Result<std::vector<int>> ddmin(std::vector<int> failing,
                               const FailsWith &fails);

} // namespace dlc::import
