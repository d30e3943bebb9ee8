// SPDX-License-Identifier: Apache-2.0
// Messages for users, on stderr; stdout is for data only.
#pragma once

#include "runtime/base/Status.h"

#include <fmt/format.h>

#include <functional>
#include <string_view>

namespace dlc {

bool stderrIsTerminal();
bool stderrHasColour(); // whether it is a terminal without NO_COLOR

// Process-wide: suppresses info(), but not warnings and errors.
void setQuiet(bool quiet);
// Process-wide: lines begin with "[rank N] "; negative: no prefix.
void setLogRank(int rank);

// Process-wide: lines are JSON objects with "level" ("info", "warning",
// "error"), "message", and "rank" if it is set.
void setLogJson(bool json);
bool logsJson();
// Logs a separate object {"rank": N, MEMBERS}, if logsJson().
void logObject(std::string_view members);

// One line each; thread-safe.
void logLine(std::string_view text);
void logInfo(std::string_view text);
void logProgress(std::string_view text); // where a run is
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

// An error that does not end what is going on.
inline void warnOf(const Status &status) {
  if (!status.ok())
    logWarning(status.message());
}

// Redirects the library's messages to a program's own log.

// Progress: where a run is, one of many lines of which the last one counts.
enum class LogLevel { Info, Warning, Error, Progress };

// Receives every line, without its newline, instead of stderr; called by any
// thread, one at a time. Empty: stderr again. It must neither throw nor log.
void setLogSink(std::function<void(LogLevel, std::string_view)> sink);

} // namespace dlc
