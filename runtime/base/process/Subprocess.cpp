#include "runtime/base/process/Subprocess.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
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
    onLine_(line_);
    line_.clear();
  }
  void end() {
    if (!line_.empty())
      finish();
  }

private:
  const std::function<void(std::string_view)> &onLine_;
  std::string line_;
};

// What a program is started with; its streams are those of dlc.h's contract.
class Start {
public:
  explicit Start(int error) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_addopen(&files_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files_, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files_, error, 2);
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  ~Start() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  Start(const Start &) = delete;
  Start &operator=(const Start &) = delete;

  // 0, or an errno.
  int run(const std::vector<std::string> &words, pid_t &child) const {
    std::vector<char *> arguments;
    for (const std::string &word : words)
      arguments.push_back(const_cast<char *>(word.c_str()));
    arguments.push_back(nullptr);
    return ::posix_spawn(&child, arguments[0], &files_, &attributes_,
                         arguments.data(), environ);
  }

private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

class Descriptor {
public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  int number() const { return number_; }
  void close() {
    if (number_ >= 0)
      ::close(number_);
    number_ = -1;
  }

private:
  int number_;
};

void readAll(int from, Lines &lines) {
  char buffer[4096];
  for (;;) {
    const ssize_t n = ::read(from, buffer, sizeof buffer);
    if (n > 0)
      lines.add({buffer, static_cast<size_t>(n)});
    else if (n == 0 || errno != EINTR)
      break;
  }
  lines.end();
}

Result<ProgramEnd> waitFor(pid_t child, const std::string &name) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return failed("'{}' ended, but not how: {} (SIGCHLD is ignored?)", name,
                    std::strerror(errno));
  if (WIFSIGNALED(status))
    return ProgramEnd{128 + WTERMSIG(status)};
  return ProgramEnd{WEXITSTATUS(status)};
}

} // namespace

Result<ProgramEnd>
runProgram(const std::vector<std::string> &words,
           const std::function<void(std::string_view)> &onLine) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return failed("cannot run '{}': no pipe: {}", words[0],
                  std::strerror(errno));
  Descriptor from(ends[0]), to(ends[1]);
  pid_t child = 0;
  if (const int error = Start(to.number()).run(words, child))
    return failed("cannot run '{}': {}", words[0], std::strerror(error));
  to.close();
  Lines lines(onLine);
  readAll(from.number(), lines);
  return waitFor(child, words[0]);
}

} // namespace dlc
