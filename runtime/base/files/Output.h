// SPDX-License-Identifier: Apache-2.0
// Output of a command on stdout.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace dlc {

// Control characters except newlines and tabs are escaped, so text from a file
// cannot control the terminal. Never fails: finishOutput() reports lost output.
void printText(std::string_view text);

template <class... T>
void printOut(fmt::format_string<T...> format, T &&...args) {
  printText(fmt::format(format, std::forward<T>(args)...));
}

// Flushes the output.
void flushOutput();

// Called at the end of a program; returns its exit code: `code`, unless output
// was lost. If the reader has closed the pipe, as in `dlc inspect x | head`,
// the exit code is 141, as for SIGPIPE, without a message; other failures are
// errors with a message.
int finishOutput(int code);

} // namespace dlc
