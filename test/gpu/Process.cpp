// SPDX-License-Identifier: Apache-2.0
#include "test/gpu/Process.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace dlc::test {
namespace {

constexpr long kKept = 64 << 10;

// An open file without a name.
class Scratch {
public:
  Scratch() : file_(std::tmpfile()) {}
  ~Scratch() { std::fclose(file_); }
  int descriptor() const { return ::fileno(file_); }
  std::string end() const {
    std::fseek(file_, 0, SEEK_END);
    const long size = std::ftell(file_);
    std::fseek(file_, std::max(0L, size - kKept), SEEK_SET);
    std::string text(static_cast<size_t>(std::min(size, kKept)), '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file_));
    return text;
  }

private:
  std::FILE *file_;
};

[[noreturn]] void become(const std::vector<std::string> &words,
                         const std::vector<std::string> &variables, int out,
                         int err) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL); // nothing outlives a test
  ::dup2(out, 1);
  ::dup2(err, 2);
  for (const std::string &variable : variables)
    ::putenv(const_cast<char *>(variable.c_str()));
  std::vector<char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  std::perror(arguments[0]);
  ::_exit(127);
}

} // namespace

Finished runProcess(const std::vector<std::string> &words,
                    const std::vector<std::string> &variables, double limit,
                    const std::function<void(double)> &watch) {
  using Clock = std::chrono::steady_clock;
  const Scratch out, err;
  const auto start = Clock::now();
  const auto now = [&] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  Finished finished;
  const pid_t child = ::fork();
  if (child == 0)
    become(words, variables, out.descriptor(), err.descriptor());
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, WNOHANG) == 0) {
    if (watch)
      watch(now());
    if (!finished.late && now() > limit) {
      finished.late = true;
      ::kill(-child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  finished.seconds = now();
  finished.code =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  finished.out = out.end();
  finished.err = err.end();
  return finished;
}

} // namespace dlc::test
