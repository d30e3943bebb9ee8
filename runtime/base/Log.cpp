#include "runtime/base/Log.h"

#include <atomic>
#include <cstdlib>
#include <unistd.h>

namespace dlc {
namespace {

std::atomic<bool> quietMode = false;
std::atomic<int> logRank = -1;

std::string coloured(std::string_view word, const char *code) {
  return stderrHasColour() ? fmt::format("\x1b[{}m{}\x1b[0m ", code, word)
                           : fmt::format("{} ", word);
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

// One write a line, so that lines of several ranks do not mix.
void logLine(std::string_view text) {
  int rank = logRank;
  std::string line = rank < 0 ? fmt::format("{}\n", text)
                              : fmt::format("[rank {}] {}\n", rank, text);
  [[maybe_unused]] ssize_t written =
      ::write(STDERR_FILENO, line.data(), line.size());
}

void logInfo(std::string_view text) {
  if (!quietMode)
    logLine(text);
}

void logWarning(std::string_view text) {
  logLine(coloured("warning:", "33") + std::string(text));
}

void logError(std::string_view text) {
  logLine(coloured("error:", "31") + std::string(text));
}

} // namespace dlc
