// SPDX-License-Identifier: Apache-2.0
// Runs another program from start to end.
#pragma once

#include "runtime/base/Status.h"

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace dlc {

// How a program is started. Signals do in it what they do by default. Files of
// this process that are not close-on-exec are open in it, too.
struct ProgramStart {
  std::vector<std::string> words; // words[0]: a path or a name in PATH
  std::array<int, 3> streams = {-1, -1, -1}; // below 0: /dev/null
  std::optional<pid_t> group = {};           // that it joins; 0: its own
  std::vector<std::string> variables = {};   // "A=1": of its environment, too
};
// Code::Failed, saying why, if it cannot be started.
Result<pid_t> startProgram(const ProgramStart &start);
// Whether it has ended, and then how (wait.h), after so long at most.
bool hasEnded(pid_t child, std::chrono::milliseconds patience, int &status);

// How a program ended: its exit code, or 128 + the signal's number.
struct ProgramEnd {
  int code = 0;
  bool isKilled = false; // by its limits
};

// When to kill a program with its process group, which is its own.
struct ProgramLimits {
  std::chrono::milliseconds time{0}; // 0: none
  // Called about 50 times a second; false: kill at once. Empty: never.
  std::function<bool()> goesOn;
  bool any() const { return time.count() > 0 || goesOn; }
};

// Runs words[0], a path or a name in PATH, with the other words, and waits for
// its end. Its standard input is empty and its standard output is discarded.
// `onLine` gets each line of its standard error, without the newline, on this
// thread; of lines longer than 64 KiB only the beginning. Its signals have
// default handlers. Code::Failed if it cannot be started, or if this process
// cannot learn how its children end (SIGCHLD is ignored). It inherits files
// that are not close-on-exec.
Result<ProgramEnd>
runProgram(const std::vector<std::string> &words,
           const std::function<void(std::string_view)> &onLine,
           const ProgramLimits &limits = {});

// How one of dlc's programs ended, and its error without "error: "; empty if
// there was none.
struct OwnProgramEnd {
  int code = 0;
  std::string error;
};

// As runProgram(), for one of dlc's programs: its error, or a Python traceback,
// is kept with all following lines; warnings and other lines are logged.
Result<OwnProgramEnd> runOwnProgram(const std::vector<std::string> &words);

// The path of one of dlc's programs: beside this program, in ../bin or
// ../../bin of this library, or in PATH; empty if not found.
std::string findProgram(const std::string &name);

} // namespace dlc
