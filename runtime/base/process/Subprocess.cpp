// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/process/Subprocess.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Descriptor.h"
#include "runtime/base/options/Environment.h"
#include "runtime/base/process/Log.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace dlc {
namespace {

constexpr size_t kLongestLine = 64 << 10;

class Lines {
public:
  explicit Lines(const std::function<void(std::string_view)> &onLine)
      : onLine_(onLine) {}

  void add(std::string_view text) {
    for (char c : text)
      if (c == '\n')
        finish();
      else if (line_.size() < kLongestLine)
        line_ += c;
  }
  void finish() {
    if (onLine_)
      onLine_(line_);
    if (!line_.empty())
      last_ = std::move(line_);
    line_.clear();
  }
  void end() {
    if (!line_.empty())
      finish();
  }

  const std::string &last() const { return last_; }

private:
  const std::function<void(std::string_view)> &onLine_;
  std::string line_, last_;
};

// Ends with a null.
std::vector<char *> pointersTo(const std::vector<std::string> &words) {
  std::vector<char *> pointers;
  for (const std::string &word : words)
    pointers.push_back(const_cast<char *>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The given variables, and those of this process that they do not replace.
std::vector<char *>
withOwnVariables(const std::vector<std::string> &variables) {
  std::vector<char *> all = pointersTo(variables);
  all.pop_back();
  for (char **at = environ; *at; ++at) {
    bool isOurs = false;
    for (const std::string &variable : variables)
      isOurs |=
          std::strncmp(*at, variable.c_str(), variable.find('=') + 1) == 0;
    if (!isOurs)
      all.push_back(*at);
  }
  all.push_back(nullptr);
  return all;
}

ProgramEnd endOf(int status, bool isKilled, const Lines &lines) {
  return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status),
          isKilled, lines.last()};
}

Status noEnd(const std::string &name) {
  return failed("'{}' ended, exit code unknown: {} (SIGCHLD is ignored?)", name,
                std::strerror(errno));
}

Result<ProgramEnd> waitFor(pid_t child, const std::string &name,
                           const Lines &lines) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return noEnd(name);
  return endOf(status, false, lines);
}

bool isReadable(int from, int milliseconds) {
  pollfd ready{from, POLLIN, 0};
  return ::poll(&ready, 1, milliseconds) > 0;
}

// False after the end of the stream.
bool readSome(int from, Lines &lines) {
  char buffer[4096];
  const ssize_t n = ::read(from, buffer, sizeof buffer);
  if (n > 0)
    lines.add({buffer, size_t(n)});
  return n > 0 || (n < 0 && errno == EINTR);
}

constexpr int kMostReads = 256; // a megabyte

// Its streams may stay open in programs that it has started.
Result<ProgramEnd> waitWithin(const ProgramLimits &limits, pid_t child,
                              const std::string &name, int from, Lines &lines) {
  const auto start = std::chrono::steady_clock::now();
  bool isOpen = true, isKilled = false;
  int status = 0;
  for (;;) {
    if (!isOpen)
      ::usleep(1000);
    else if (isReadable(from, 20))
      isOpen = readSome(from, lines);
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended < 0 && errno != EINTR)
      return noEnd(name);
    if (ended == child)
      break;
    const bool isOver = limits.time.count() > 0 &&
                        std::chrono::steady_clock::now() - start > limits.time;
    if (!isKilled && (isOver || (limits.goesOn && !limits.goesOn()))) {
      isKilled = true;
      ::kill(-child, SIGKILL);
    }
  }
  ::kill(-child, SIGKILL); // remaining processes of the group
  // Reads what is there now: processes that left the group may keep it open.
  for (int i = 0; i < kMostReads && isOpen && isReadable(from, 0); ++i)
    isOpen = readSome(from, lines);
  lines.end();
  return endOf(status, isKilled, lines);
}

std::string folderOf(const char *path) {
  char *real = ::realpath(path, nullptr);
  const std::string file = real ? real : "";
  std::free(real);
  return file.substr(0, file.rfind('/'));
}

std::vector<std::string> foldersOfPrograms() {
  std::vector<std::string> found = {folderOf("/proc/self/exe")};
  Dl_info self{};
  if (::dladdr(reinterpret_cast<void *>(&findProgram), &self) &&
      self.dli_fname) {
    const std::string folder = folderOf(self.dli_fname);
    found.push_back(folder + "/../bin");
    found.push_back(folder + "/../../bin");
  }
  const std::string path = environment::programFolders();
  for (const std::string_view folder : splitAt(path, ':'))
    if (!folder.empty()) // "" would mean the current folder
      found.emplace_back(folder);
  return found;
}

} // namespace

Result<pid_t> startProgram(const ProgramStart &start) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (int i = 0; i < 3; ++i)
    if (const int stream = start.streams[size_t(i)]; stream < 0)
      posix_spawn_file_actions_addopen(&files, i, "/dev/null",
                                       i ? O_WRONLY : O_RDONLY, 0);
    else
      posix_spawn_file_actions_adddup2(&files, stream, i);
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, start.group.value_or(0));
  posix_spawnattr_setflags(
      &attributes, short(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                         (start.group ? POSIX_SPAWN_SETPGROUP : 0)));
  std::vector<char *> words = pointersTo(start.words);
  std::vector<char *> variables = withOwnVariables(start.variables);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, words[0], &files, &attributes,
                                   words.data(), variables.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return error ? Result<pid_t>(failed("{}", std::strerror(error))) : child;
}

bool hasEnded(pid_t child, std::chrono::milliseconds patience, int &status) {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const pid_t found = ::waitpid(child, &status, WNOHANG);
    if (found == child || (found < 0 && errno != EINTR))
      return true;
    if (std::chrono::steady_clock::now() >= end)
      return false;
    ::usleep(5000);
  }
}

std::string findProgram(const std::string &name) {
  for (const std::string &folder : foldersOfPrograms())
    if (std::string path = folder + "/" + name;
        ::access(path.c_str(), X_OK) == 0)
      return path;
  return "";
}

Result<ProgramEnd>
runProgram(const std::vector<std::string> &words,
           const std::function<void(std::string_view)> &onLine,
           const ProgramLimits &limits) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return failed("cannot run '{}': no pipe: {}", words[0],
                  std::strerror(errno));
  Descriptor from(ends[0]), to(ends[1]);
  DLC_ASSIGN(const pid_t child,
             startProgram({words,
                           {-1, -1, to.number()},
                           limits.any() ? std::optional(0) : std::nullopt})
                 .withContext("cannot run '{}'", words[0]));
  to.close();
  Lines lines(onLine);
  if (limits.any())
    return waitWithin(limits, child, words[0], from.number(), lines);
  while (readSome(from.number(), lines))
    continue;
  lines.end();
  return waitFor(child, words[0], lines);
}

Result<OwnProgramEnd> runOwnProgram(const std::vector<std::string> &words) {
  std::string error;
  const auto add = [&](std::string_view line) {
    constexpr std::string_view kError = "error: ", kWarning = "warning: ";
    if (!error.empty())
      error += "\n" + std::string(line);
    else if (line.starts_with(kError))
      error = line.substr(kError.size());
    else if (line.starts_with("Traceback"))
      error = line;
    else if (line.starts_with(kWarning))
      logWarning(line.substr(kWarning.size()));
    else
      logInfo(line);
  };
  DLC_ASSIGN(const ProgramEnd end, runProgram(words, add));
  return OwnProgramEnd{end.code, std::move(error)};
}

} // namespace dlc
