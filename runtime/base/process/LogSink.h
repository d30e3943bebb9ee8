// SPDX-License-Identifier: Apache-2.0
// Redirects the library's messages to a program's own log.
#pragma once

#include <functional>
#include <string_view>

namespace dlc {

// Progress: where a run is, one of many lines of which the last one counts.
enum class LogLevel { Info, Warning, Error, Progress };

// Receives every line, without its newline, instead of stderr; called by any
// thread, one at a time. Empty: stderr again. It must neither throw nor log.
void setLogSink(std::function<void(LogLevel, std::string_view)> sink);

} // namespace dlc
