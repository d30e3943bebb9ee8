// SPDX-License-Identifier: Apache-2.0
// Shared code around main() of dlc's programs: the last handler of exceptions
// and failed allocations. Not part of the library, which never exits.
#pragma once

#include "runtime/base/Status.h"

#include <functional>

namespace dlc::process {

// Returns the exit code of `body`; prints an exception and returns its code.
// `body` can wait for children, though the starter may have ignored SIGCHLD.
// Linking this file also replaces operator new, so that a failed allocation
// reports its size, and exits with a message and a code if it cannot be caught:
// in a thread of a library, in a destructor, before main.
// LLVM has no exceptions and cannot be unwound: in programs that link
// DlcLlvmProcess, every failed allocation, and an error that LLVM cannot
// return, removes temporary files and exits with a message and code 6 or 1.
int runMain(const char *program, const std::function<int()> &body);

// Prints the error, removes temporary files, and exits, without allocating.
// Never returns; blocks other threads meanwhile.
[[noreturn]] void endNow(Code code, std::string_view message) noexcept;

// The same for memory of `bytes` that could not be allocated.
[[noreturn]] void endWithoutMemory(size_t bytes) noexcept;

// From now on a failed allocation exits instead of throwing.
void endOnFailedAllocation();
// Whether this thread's failed allocations exit: after the call above, or
// within FatalAllocations.
bool endsOnFailedAllocation();

} // namespace dlc::process
