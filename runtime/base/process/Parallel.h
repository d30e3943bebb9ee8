// SPDX-License-Identifier: Apache-2.0
// The same work on several threads.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

namespace dlc {

// Calls work() on this thread and on `count` - 1 others, fewer if the system
// has no more threads, and waits for all: so work() must take its share from
// what the threads have in common. Throws what work() has thrown first.
void runTogether(size_t count, const std::function<void()> &work);

// Cores that this process may keep busy, at least 1: those that it may run on,
// no more than its control groups grant (whole ones of their quota).
int coresOfProcess();

// The same of `allowed` cores and a quota of `granted`.
int coresWithin(int allowed, std::optional<double> granted);

} // namespace dlc
