// SPDX-License-Identifier: Apache-2.0
// What dlc's programs have around their main: the last boundary for exceptions
// and failed allocations. Never part of the library, which ends no process.
#pragma once

#include "runtime/base/Status.h"

#include <functional>

namespace dlc::process {

// The exit code of `body`; what it throws is printed and has its code.
// Linking this also replaces operator new, so that a failed allocation has its
// size, and ends with a message and a code where nothing can catch: in a
// library's thread, in a destructor, before main.
int runMain(const char *program, const std::function<int()> &body);

// For programs with LLVM in them, which has no exceptions and cannot be
// unwound: from now on a failed allocation, or an error that LLVM cannot
// return, ends the process with a message and code 6 or 1, its temporaries
// removed.
void endWhereLlvmCannotReturn();

// Prints the error, removes what is temporary, ends the process; no memory is
// needed. Never returns. Other threads wait meanwhile.
[[noreturn]] void endNow(Code code, std::string_view message) noexcept;

// A failed allocation ends the process from now on, instead of being thrown.
void endOnFailedAllocation();
// Whether one of this thread does: from then on, or within FatalAllocations.
bool endsOnFailedAllocation();

} // namespace dlc::process
