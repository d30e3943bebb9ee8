// SPDX-License-Identifier: Apache-2.0
// Starts other programs and waits for them.
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

// How to start a program. Signals have their default actions in it. It inherits
// files of this process that are not close-on-exec.
struct ProgramStart {
  std::vector<std::string> words; // words[0]: a path or a name in PATH
  std::array<int, 3> streams = {-1, -1, -1}; // negative: /dev/null
  std::optional<pid_t> group = {};           // to join; 0: a new process group
  std::vector<std::string> variables = {};   // added to the environment, "A=1"
};
// Code::Failed, with the reason, if it cannot be started.
Result<pid_t> startProgram(const ProgramStart &start);
// Whether it has ended within `patience`, and its status (wait.h).
bool hasEnded(pid_t child, std::chrono::milliseconds patience, int &status);

// How a program ended: its exit code, or 128 + the signal's number.
struct ProgramEnd {
  int code = 0;
  bool isKilled = false; // because of its limits
  std::string lastLine;  // of its standard error, except empty ones
};

// When to kill a program and its process group, which is a new one.
struct ProgramLimits {
  std::chrono::milliseconds time{0}; // 0: none
  // Called about 50 times a second; false: kill at once. Empty: never.
  std::function<bool()> goesOn;
  bool any() const { return time.count() > 0 || goesOn; }
};

// Runs words[0], a path or a name in PATH, with the other words as arguments,
// and waits for its end. Its standard input is empty and its standard output is
// discarded. `onLine`, if any, is called on this thread with each line of its
// standard error, without the newline; lines longer than 64 KiB are truncated.
// Signals have their default actions in it. Code::Failed if it cannot be
// started, or if this process cannot wait for its children (SIGCHLD is
// ignored). It inherits files that are not close-on-exec.
Result<ProgramEnd>
runProgram(const std::vector<std::string> &words,
           const std::function<void(std::string_view)> &onLine = {},
           const ProgramLimits &limits = {});

// How one of dlc's programs ended, and its error without "error: "; empty if
// there is none.
struct OwnProgramEnd {
  int code = 0;
  std::string error;
};

// As runProgram(), for one of dlc's programs: its error, or a Python traceback,
// is returned with all following lines; warnings and other lines are logged.
Result<OwnProgramEnd> runOwnProgram(const std::vector<std::string> &words);

// The path of one of dlc's programs: beside this program, in ../bin or
// ../../bin of this library, or in PATH; empty if not found.
std::string findProgram(const std::string &name);

} // namespace dlc
