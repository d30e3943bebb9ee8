// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/sweep/Children.h"

#include "runtime/base/files/Files.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dlc::tool {
namespace {

volatile sig_atomic_t stopSignal = 0;

void takeStop(int signal) {
  if (!stopSignal)
    stopSignal = signal;
}

void handle(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    ::sigaction(signal, &action, nullptr);
}

} // namespace

StopRequest::StopRequest() {
  stopSignal = 0;
  handle(takeStop);
}
StopRequest::~StopRequest() { handle(SIG_DFL); }
int StopRequest::signal() const { return stopSignal; }

Result<int> startChild(const std::vector<std::string> &words,
                       const std::string &log) {
  std::vector<char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  const int file =
      ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0)
    return systemError("write", log);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child == 0) {
    handle(SIG_DFL);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent)
      ::_exit(128 + SIGTERM);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  const Status failure = child < 0 ? systemError("start", words[0]) : Status();
  ::close(file);
  DLC_TRY(failure);
  return static_cast<int>(child);
}

// Asks again and again: a signal that comes just before a wait would not end
// it.
Result<ChildEnd> waitForChild() {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid > 0)
      return ChildEnd{pid, WIFEXITED(status) ? WEXITSTATUS(status)
                                             : 128 + WTERMSIG(status)};
    if (pid < 0 && errno != EINTR)
      return systemError("wait for", "a trial");
    if (stopSignal)
      return ChildEnd{};
    ::usleep(20'000);
  }
}

} // namespace dlc::tool
