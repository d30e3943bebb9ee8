// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/stream/PipeProgram.h"

#include "runtime/base/Text.h"
#include "runtime/base/process/RunningClock.h"
#include "runtime/base/process/SignalHandlers.h"
#include "runtime/base/process/Subprocess.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dlc {
namespace {

using std::chrono::milliseconds;

// Polling interval for stop requests.
constexpr milliseconds kSlice = RunningClock::kSlice;
constexpr size_t kLastWords = 2000; // bytes
// Waits until this process ends, which closes the guard's input, and then kills
// the process group.
constexpr const char *kGuard = "read nothing; kill -s KILL 0";

struct PipeEnds {
  Descriptor from, to;
};

Result<PipeEnds> makePipe() {
  int both[2];
  if (::pipe2(both, O_CLOEXEC) != 0)
    return failed("no pipe: {}", std::strerror(errno));
  return PipeEnds{Descriptor(both[0]), Descriptor(both[1])};
}

// Runs `command` with /bin/sh in the group (0: a new one).
Result<pid_t> startShell(const char *command, std::array<int, 3> streams,
                         pid_t group,
                         const std::vector<std::string> &variables = {}) {
  return startProgram({{"/bin/sh", "-c", command}, streams, group, variables});
}

} // namespace

Result<std::unique_ptr<PipeProgram>>
PipeProgram::start(const std::string &command,
                   const std::vector<std::string> &variables) {
  std::unique_ptr<PipeProgram> program(new PipeProgram);
  const auto run = [&]() -> Status {
    DLC_ASSIGN(PipeEnds life, makePipe());
    program->life_ = std::move(life.to);
    DLC_ASSIGN(PipeEnds output, makePipe());
    program->output_ = std::move(output.from);
    DLC_ASSIGN(PipeEnds errors, makePipe());
    program->errors_ = std::move(errors.from);
    DLC_ASSIGN(program->guard_,
               startShell(kGuard, {life.from.number(), -1, -1}, 0));
    DLC_ASSIGN(program->program_,
               startShell(command.c_str(),
                          {-1, output.to.number(), errors.to.number()},
                          program->guard_, variables));
    return {};
  };
  DLC_TRY(run().withContext("cannot start '{}'", printable(command)));
  return program;
}

std::unique_ptr<PipeProgram> PipeProgram::standardInput() {
  std::unique_ptr<PipeProgram> program(new PipeProgram);
  program->output_ = Descriptor(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  program->stopped_ = true;
  return program;
}

PipeProgram::~PipeProgram() {
  output_.close();
  errors_.close();
  if (guard_ <= 0)
    return;
  int status = 0;
  ::kill(-guard_, SIGTERM);
  if (program_ > 0 && !hasEnded(program_, milliseconds(1000), status)) {
    ::kill(-guard_, SIGKILL);
    hasEnded(program_, std::chrono::hours(1), status);
  }
  // Kills children of the program, too. The guard is not reaped yet, so the
  // group id is still valid.
  ::kill(-guard_, SIGKILL);
  hasEnded(guard_, std::chrono::hours(1), status);
}

// Returns 0 at the end, nullopt if no data is available yet.
static Result<std::optional<size_t>> readSome(int from, std::byte *to,
                                              size_t most) {
  const ssize_t some = ::read(from, to, most);
  if (some < 0 && errno != EINTR && errno != EAGAIN)
    return failed("cannot read samples: {}", std::strerror(errno));
  return some < 0 ? std::nullopt : std::optional(size_t(some));
}

Result<size_t> PipeProgram::read(std::byte *to, size_t size,
                                 milliseconds patience,
                                 const std::atomic<bool> &stop) {
  size_t done = 0;
  auto last = RunningClock::now();
  while (done < size) {
    if (stop)
      return failed("stopped");
    pollfd files[] = {{output_.number(), POLLIN, 0},
                      {errors_.number(), POLLIN, 0}};
    const int ready = ::poll(files, errors_ ? 2 : 1, int(kSlice.count()));
    if (ready < 0 && errno != EINTR)
      return failed("cannot wait for samples: {}", std::strerror(errno));
    if (ready > 0 && files[1].revents)
      readErrors();
    if (ready > 0 && files[0].revents) {
      DLC_ASSIGN(const auto some,
                 readSome(output_.number(), to + done, size - done));
      if (some == 0U)
        return done;
      if (some) {
        done += *some;
        last = RunningClock::now();
      }
    } else if (RunningClock::now() - last >= patience) {
      return failed("nothing came for {} s (--data-timeout)",
                    double(patience.count()) / 1000);
    }
  }
  return done;
}

void PipeProgram::readErrors() {
  char some[4096];
  const ssize_t count = ::read(errors_.number(), some, sizeof some);
  if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN))
    errors_.close();
  if (count <= 0)
    return;
  lastWords_.append(some, size_t(count));
  if (lastWords_.size() > kLastWords)
    lastWords_.erase(0, lastWords_.size() - kLastWords);
}

std::string PipeProgram::ending() {
  if (program_ < 0)
    return "";
  int status = 0;
  const bool ended = hasEnded(program_, milliseconds(1000), status);
  // Reads remaining output; other processes of the group may keep the pipe
  // open.
  while (errors_) {
    pollfd file = {errors_.number(), POLLIN, 0};
    if (::poll(&file, 1, 0) <= 0)
      break;
    readErrors();
  }
  std::string text = "it closed its output";
  if (ended) {
    program_ = -1;
    // A shell exits with 128 + signal if a signal ended its last command.
    const int signal =
        WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - 128;
    stopped_ = std::ranges::count(kStopSignals, signal) > 0;
    text = WIFSIGNALED(status)
               ? fmt::format("signal {} ended it", WTERMSIG(status))
               : fmt::format("it ended with exit code {}", WEXITSTATUS(status));
  }
  while (lastWords_.ends_with('\n'))
    lastWords_.pop_back();
  return lastWords_.empty() ? text : text + "; it said:\n" + lastWords_;
}

} // namespace dlc
