// SPDX-License-Identifier: Apache-2.0
// What a command prints on stdout.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace dlc {

// Control characters but newlines and tabs are escaped: text of a file moves no
// terminal's cursor. Never fails: finishOutput() tells what did not get there.
void printText(std::string_view text);

template <class... T>
void printOut(fmt::format_string<T...> format, T &&...args) {
  printText(fmt::format(format, std::forward<T>(args)...));
}

// What was printed so far is to be seen now.
void flushOutput();

// At the end of a program: its exit code is `code`, unless its output could not
// be written. A reader that has gone, as `dlc inspect x | head` does, is said
// by 141 alone, as if by SIGPIPE; anything else is an error with a message.
int finishOutput(int code);

} // namespace dlc
