// SPDX-License-Identifier: Apache-2.0
// Messages for people, on stderr; stdout is for data only.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace dlc {

bool stderrIsTerminal();
bool stderrHasColour(); // a terminal, and NO_COLOR is not set

// Process-wide: no info() any more; warnings and errors stay.
void setQuiet(bool quiet);
// Process-wide: every line starts with "[rank N] "; below 0: none.
void setLogRank(int rank);

// Process-wide: every line is a JSON object with "level" ("info", "warning",
// "error"), "message", and "rank" where one is set.
void setLogJson(bool json);
bool logsJson();
// Members of an object of its own, {"rank": N, MEMBERS}, where logsJson().
void logObject(std::string_view members);

// One line each; safe from any thread.
void logLine(std::string_view text);
void logInfo(std::string_view text);
void logWarning(std::string_view text);
void logError(std::string_view text);

template <class... Args>
void info(fmt::format_string<Args...> format, Args &&...args) {
  logInfo(fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warning(fmt::format_string<Args...> format, Args &&...args) {
  logWarning(fmt::format(format, std::forward<Args>(args)...));
}

} // namespace dlc
