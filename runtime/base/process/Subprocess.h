// SPDX-License-Identifier: Apache-2.0
// Another program, from its start to its end.
#pragma once

#include "runtime/base/Status.h"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dlc {

// How a program ended: its exit code, or 128 + the signal's number.
struct ProgramEnd {
  int code = 0;
  bool isKilled = false; // by its limits
};

// When a program is killed, with all of its process group, which is its own.
struct ProgramLimits {
  std::chrono::milliseconds time{0}; // 0: none
  // Asked some 50 times a second; false: at once. Empty: nobody is asked.
  std::function<bool()> goesOn;
  bool any() const { return time.count() > 0 || goesOn; }
};

// Runs words[0], a path or a name in PATH, with the other words, and waits for
// its end. It reads
// nothing, and its standard output goes nowhere. `onLine` gets each line of its
// standard error, without its end, on this thread; of one longer than 64 KiB
// the beginning. Signals do in it what they do by default. Code::Failed if it
// cannot be started, or if this process does not learn how its children end
// (SIGCHLD is ignored). Files of this process that are not close-on-exec are
// open in it, too.
Result<ProgramEnd>
runProgram(const std::vector<std::string> &words,
           const std::function<void(std::string_view)> &onLine,
           const ProgramLimits &limits = {});

// How one of dlc's programs ended, and its error without "error: "; empty if
// it gave none.
struct OwnProgramEnd {
  int code = 0;
  std::string error;
};

// As runProgram(), of one of dlc's programs: its error, or a traceback of
// Python, is kept with all lines behind it; warnings and other lines are
// logged.
Result<OwnProgramEnd> runOwnProgram(const std::vector<std::string> &words);

// The path of one of dlc's programs: beside this program, in ../bin or
// ../../bin of this library, or in PATH; empty if it is in none of them.
std::string findProgram(const std::string &name);

} // namespace dlc
