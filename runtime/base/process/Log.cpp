#include "runtime/base/process/Log.h"

#include "runtime/base/Text.h"
#include "runtime/base/process/LogSink.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <sys/uio.h>
#include <unistd.h>

namespace dlc {
namespace {

std::atomic<bool> quietMode = false;
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

// One write a line, so that lines of several ranks do not mix. Allocates
// nothing.
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

// It may be about memory that ran out: then its start without what is no ASCII.
void writeLine(std::string_view word, std::string_view text) {
  try {
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
  const char *off = std::getenv("NO_COLOR");
  return stderrIsTerminal() && !(off && *off);
}

void setQuiet(bool quiet) { quietMode = quiet; }
void setLogRank(int rank) { logRank = rank; }

void setLogSink(std::function<void(LogLevel, std::string_view)> sink) {
  const std::lock_guard lock(sinkMutex);
  logSink = std::move(sink);
  hasSink = logSink != nullptr;
}

void logLine(std::string_view text) {
  if (!goesToSink(LogLevel::Info, text))
    writeLine("", text);
}

void logInfo(std::string_view text) {
  if (!quietMode)
    logLine(text);
}

void logWarning(std::string_view text) {
  if (!goesToSink(LogLevel::Warning, text))
    writeLine(stderrHasColour() ? "\x1b[33mwarning:\x1b[0m " : "warning: ",
              text);
}

void logError(std::string_view text) {
  if (!goesToSink(LogLevel::Error, text))
    writeLine(stderrHasColour() ? "\x1b[31merror:\x1b[0m " : "error: ", text);
}

} // namespace dlc
