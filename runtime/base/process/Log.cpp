// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/process/Log.h"

#include "runtime/base/Text.h"
#include "runtime/base/options/Environment.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <new>
#include <sys/uio.h>
#include <unistd.h>

namespace dlc {
namespace {

std::atomic<bool> quietMode = false, jsonMode = false;
std::atomic<int> logRank = -1;
std::atomic<bool> hasSink = false;
std::mutex sinkMutex;
std::function<void(LogLevel, std::string_view)> logSink;

bool goesToSink(LogLevel level, std::string_view text) {
  if (!hasSink)
    return false;
  const std::lock_guard lock(sinkMutex);
  if (logSink)
    logSink(level, text);
  return logSink != nullptr;
}

// Writes a line at once, so that lines of ranks do not mix. Does not allocate.
void writeRaw(std::string_view word, std::string_view text) {
  char rank[32] = "";
  if (logRank >= 0)
    fmt::format_to_n(rank, sizeof rank - 1, "[rank {}] ", logRank.load());
  std::array<iovec, 4> parts;
  std::array<std::string_view, 4> texts = {rank, word, text, "\n"};
  for (size_t i = 0; i < parts.size(); ++i)
    parts[i] = {const_cast<char *>(texts[i].data()), texts[i].size()};
  [[maybe_unused]] ssize_t written =
      ::writev(STDERR_FILENO, parts.data(), parts.size());
}

std::string inQuotes(std::string_view text) {
  std::string json = "\"";
  for (const char c : text)
    if (c == '"' || c == '\\')
      json += {'\\', c};
    else if (static_cast<unsigned char>(c) < ' ' || c == '\x7f')
      json += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      json += c;
  return json + '"';
}

void writeObject(std::string_view members) {
  const int rank = logRank;
  const std::string line =
      fmt::format("{{{}{}}}\n",
                  rank < 0 ? "" : fmt::format("\"rank\": {}, ", rank), members);
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, line.data(), line.size());
}

constexpr std::string_view kLevels[] = {"info", "warning", "error"};
constexpr std::string_view kColours[] = {"", "\x1b[33m", "\x1b[31m"};

// If memory is exhausted, writes the line's beginning, ASCII only.
void writeLine(LogLevel level, std::string_view text) {
  char word[40] = "";
  if (level != LogLevel::Info)
    fmt::format_to_n(word, sizeof word - 1, "{}{}:{} ",
                     stderrHasColour() ? kColours[size_t(level)] : "",
                     kLevels[size_t(level)],
                     stderrHasColour() ? "\x1b[0m" : "");
  try {
    if (jsonMode)
      writeObject(fmt::format("\"level\": \"{}\", \"message\": {}",
                              kLevels[size_t(level)],
                              inQuotes(messageText(text))));
    else
      writeRaw(word, messageText(text));
  } catch (const std::bad_alloc &) {
    char plain[512];
    const size_t size = std::min(text.size(), sizeof plain);
    std::replace_copy_if(
        text.begin(), text.begin() + ptrdiff_t(size), plain,
        [](char c) { return c != '\n' && (c < ' ' || c > '~'); }, '?');
    writeRaw(word, {plain, size});
  }
}

} // namespace

bool stderrIsTerminal() {
  static const bool terminal = ::isatty(STDERR_FILENO) == 1;
  return terminal;
}

bool stderrHasColour() {
  return stderrIsTerminal() && !environment::wantsNoColour();
}

void setQuiet(bool quiet) { quietMode = quiet; }
void setLogRank(int rank) { logRank = rank; }
void setLogJson(bool json) { jsonMode = json; }
bool logsJson() { return jsonMode; }
void logObject(std::string_view members) { writeObject(members); }

void setLogSink(std::function<void(LogLevel, std::string_view)> sink) {
  const std::lock_guard lock(sinkMutex);
  logSink = std::move(sink);
  hasSink = logSink != nullptr;
}

void logLine(std::string_view text) {
  if (!goesToSink(LogLevel::Info, text))
    writeLine(LogLevel::Info, text);
}

void logProgress(std::string_view text) {
  if (!goesToSink(LogLevel::Progress, text))
    writeLine(LogLevel::Info, text);
}

void logInfo(std::string_view text) {
  if (!quietMode)
    logLine(text);
}

void logWarning(std::string_view text) {
  if (!goesToSink(LogLevel::Warning, text))
    writeLine(LogLevel::Warning, text);
}

void logError(std::string_view text) {
  if (!goesToSink(LogLevel::Error, text))
    writeLine(LogLevel::Error, text);
}

} // namespace dlc
