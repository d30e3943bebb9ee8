// SPDX-License-Identifier: Apache-2.0
// Runs the same function on several threads.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

namespace dlc {

// Calls work() on this thread and on `count` - 1 other threads, or fewer if the
// system cannot create them, and waits for all: work() must take its share from
// a common source. Rethrows the first exception of work().
void runTogether(size_t count, const std::function<void()> &work);

// Number of cores that this process may use, at least 1: its allowed cores,
// limited by the quota of its control groups, rounded down.
int coresOfProcess();

// The same for `allowed` cores and a quota of `granted`.
int coresWithin(int allowed, std::optional<double> granted);

} // namespace dlc
