// SPDX-License-Identifier: Apache-2.0
// Messages of the library for a program that has a log of its own.
#pragma once

#include <functional>
#include <string_view>

namespace dlc {

enum class LogLevel { Info, Warning, Error };

// Gets every line, without its end, instead of stderr; any thread may call it,
// one at a time. Empty: stderr again. It must not throw, nor log.
void setLogSink(std::function<void(LogLevel, std::string_view)> sink);

} // namespace dlc
