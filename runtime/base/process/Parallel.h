// SPDX-License-Identifier: Apache-2.0
// Runs the same function on several threads.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

namespace dlc {

// Calls work() on this thread and on `count` - 1 others, fewer if the system
// has no more threads, and waits for all: so work() must take its share from a
// common source. Rethrows the first exception of work().
void runTogether(size_t count, const std::function<void()> &work);

// Cores that this process may keep busy, at least 1: its allowed cores, limited
// by the (whole) quota of its control groups.
int coresOfProcess();

// The same for `allowed` cores and a quota of `granted`.
int coresWithin(int allowed, std::optional<double> granted);

} // namespace dlc
