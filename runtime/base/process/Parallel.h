// The same work on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace dlc {

// Calls work() on this thread and on `count` - 1 others, fewer if the system
// has no more threads, and waits for all: so work() must take its share from
// what the threads have in common. Throws what work() has thrown first.
void runTogether(size_t count, const std::function<void()> &work);

// Cores that this process may run on, at least 1.
int coresOfProcess();

} // namespace dlc
