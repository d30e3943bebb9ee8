// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/Status.h"
#include "runtime/base/Text.h"
#include "runtime/base/files/Descriptor.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/base/process/RunningClock.h"
#include "runtime/base/process/SignalHandlers.h"
#include "runtime/base/process/Subprocess.h"
#include "runtime/data/stream/SampleStream.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <poll.h>
#include <string>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace dlc {
namespace {

// Reads the standard output of a child process. Not thread-safe.
class PipeProgram {
public:
  // Starts `command` with /bin/sh, in a new process group, without input, with
  // `variables` ("NAME=VALUE") added to the environment. The group is killed
  // when this process ends for any reason.
  static Result<std::unique_ptr<PipeProgram>>
  start(const std::string &command, const std::vector<std::string> &variables);
  // Reads this process's standard input instead.
  static std::unique_ptr<PipeProgram> standardInput();
  // Ends the group: SIGTERM, and SIGKILL after a second.
  ~PipeProgram();
  PipeProgram(const PipeProgram &) = delete;
  PipeProgram &operator=(const PipeProgram &) = delete;

  // Reads `size` bytes; fewer only at the end of the output. Code::Failed if
  // nothing arrives for `patience`, or soon after `stop` is set.
  Result<size_t> read(std::byte *to, size_t size,
                      std::chrono::milliseconds patience,
                      const std::atomic<bool> &stop);
  // At the end of the output, for a message: "it ended with exit code 3" and
  // its last words on standard error.
  std::string ending();
  // After ending(): whether a signal of kStopSignals ended it, which other
  // processes may have got, too. Unknown for standard input: true.
  bool wasStopped() const { return stopped_; }

private:
  PipeProgram() = default;
  void readErrors();

  Descriptor life_; // closes with us, after the group's end
  Descriptor output_, errors_;
  pid_t program_ = -1, guard_ = -1; // guard_ leads the group
  std::string lastWords_;
  bool stopped_ = false;
};

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
Result<std::optional<size_t>> readSome(int from, std::byte *to, size_t most) {
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

// A program whose header was read, for the first reader of samples.
class BegunProgram {
public:
  BegunProgram(std::unique_ptr<PipeProgram> program, std::string line)
      : line(std::move(line)), program_(std::move(program)) {}
  std::unique_ptr<PipeProgram> take() {
    const std::lock_guard lock(mutex_);
    return std::move(program_);
  }

  const std::string line; // the header

private:
  std::mutex mutex_;
  std::unique_ptr<PipeProgram> program_;
};

class StreamProgram {
public:
  explicit StreamProgram(StreamOptions options)
      : options_(std::move(options)) {}

  const StreamOptions &options() const { return options_; }
  bool isInput() const { return options_.command.empty(); }
  std::string name() const {
    return isInput() ? "standard input" : options_.command;
  }

  Result<std::shared_ptr<BegunProgram>> begin(const StreamPlace &place,
                                              const std::atomic<bool> &stop) {
    std::unique_ptr<PipeProgram> program;
    if (isInput()) {
      program = PipeProgram::standardInput();
    } else {
      DLC_ASSIGN(program,
                 PipeProgram::start(
                     options_.command,
                     {fmt::format("DLC_DATA_EPOCH={}", place.epoch),
                      fmt::format("DLC_DATA_SKIP={}", place.taken),
                      fmt::format("DLC_RANK={}", options_.rank),
                      fmt::format("DLC_WORLD_SIZE={}", options_.world)}));
    }
    for (std::string line;;) {
      char c = 0;
      DLC_TRY(read(*program, reinterpret_cast<std::byte *>(&c), 1,
                   "before its header", stop));
      if (c == '\n')
        return std::make_shared<BegunProgram>(std::move(program), line);
      if (line.size() == kMaxStreamHeader)
        return failed("'{}': its first line has more than {} KiB, expected a "
                      "header of samples",
                      printable(name()), kMaxStreamHeader >> 10);
      line += c;
    }
  }

  // Reads `size` bytes; the error says `when` the program ended.
  Status read(PipeProgram &program, std::byte *to, uint64_t size,
              std::string_view when, const std::atomic<bool> &stop) {
    DLC_ASSIGN(const size_t found,
               program.read(to, size, options_.patience, stop)
                   .withContext("'{}'", printable(name())));
    if (found == size)
      return {};
    return failed("'{}' ended {}{}", printable(name()), when, endOf(program));
  }

  // The end of an error message.
  std::string endOf(PipeProgram &program) {
    const std::string how = program.ending();
    wasStopped_ = program.wasStopped();
    return how.empty() ? "" : ": " + how;
  }
  bool wasStopped() const { return wasStopped_; }

private:
  StreamOptions options_;
  bool wasStopped_ = false;
};

class ProgramStream final : public SampleStream {
public:
  ProgramStream(StreamProgram program, std::shared_ptr<BegunProgram> waiting,
                StreamHeader header)
      : program_(std::move(program)), waiting_(std::move(waiting)),
        header_(std::move(header)) {}

  const StreamHeader &header() const override { return header_; }

  Status start(const StreamPlace &place) override {
    read_ = 0;
    running_.reset();
    if (program_.isInput() || (place.epoch == 0 && place.taken == 0))
      running_ = waiting_->take();
    if (program_.isInput())
      return running_ ? passOver(place)
                      : failed("standard input cannot be read twice");
    if (running_)
      return {};
    waiting_->take(); // which ends the process
    DLC_ASSIGN(const auto begun, program_.begin(place, stopped_));
    if (begun->line != waiting_->line)
      return failed("'{}' writes another header for epoch {} after {} samples: "
                    "'{}' instead of '{}'",
                    printable(program_.name()), place.epoch, place.taken,
                    printable(begun->line), printable(waiting_->line));
    running_ = begun->take();
    return {};
  }

  Status read(int64_t count, std::byte *to) override {
    const uint64_t bytes = uint64_t(count) * header_.recordBytes;
    DLC_ASSIGN(const size_t found,
               running_->read(to, bytes, program_.options().patience, stopped_)
                   .withContext("'{}'", printable(program_.name())));
    read_ += int64_t(found / header_.recordBytes);
    if (found == bytes)
      return {};
    const uint64_t rest = found % header_.recordBytes;
    return failed("'{}' ended after {} samples{}{}{}",
                  printable(program_.name()), read_,
                  rest ? fmt::format(" and {} of the next one's {} bytes", rest,
                                     header_.recordBytes)
                       : "",
                  program_.options().world > 1
                      ? fmt::format(" for rank {}", program_.options().rank)
                      : "",
                  program_.endOf(*running_));
  }

  void stop() override { stopped_ = true; }
  bool wasStopped() const override { return program_.wasStopped(); }

private:
  Status passOver(const StreamPlace &place) {
    std::vector<std::byte> record(header_.recordBytes);
    for (int64_t i = 0; i < place.taken; ++i)
      DLC_TRY(program_.read(*running_, record.data(), record.size(),
                            fmt::format("at sample {} of {} that the run has "
                                        "taken",
                                        i, place.taken),
                            stopped_));
    return {};
  }

  StreamProgram program_;
  std::shared_ptr<BegunProgram> waiting_;
  StreamHeader header_;
  std::unique_ptr<PipeProgram> running_;
  std::atomic<bool> stopped_ = false;
  int64_t read_ = 0; // samples since the start
};

class StreamSource final : public Source {
public:
  StreamSource(StreamProgram program, std::shared_ptr<BegunProgram> waiting,
               StreamHeader header)
      : program_(std::move(program)), waiting_(std::move(waiting)),
        header_(std::move(header)) {}

  std::string name() const override { return program_.name(); }
  std::vector<std::string> keys() const override {
    std::vector<std::string> keys;
    for (const auto &array : header_.arrays)
      keys.push_back(array.name);
    return keys;
  }
  Result<Array> head(const std::string &key) const override {
    const auto *array = header_.find(key);
    if (!array)
      return noSuchArray(*this, key);
    std::vector<int64_t> shape{header_.samples};
    shape.insert(shape.end(), array->shape.begin(), array->shape.end());
    return Array{array->dtype, std::move(shape), {}};
  }
  Result<std::shared_ptr<const RowReader>>
  rows(const std::string &) const override {
    return readerBy([](int64_t row, auto, auto) {
      return failed(
          "sample {} cannot be read: samples of a stream are sequential", row);
    });
  }
  std::unique_ptr<SampleStream> stream() const override {
    return std::make_unique<ProgramStream>(program_, waiting_, header_);
  }
  bool isStream() const override { return true; }
  Result<std::string> hash(int) const override {
    return sha256(std::as_bytes(std::span(waiting_->line)));
  }

private:
  StreamProgram program_;
  std::shared_ptr<BegunProgram> waiting_;
  StreamHeader header_;
};

} // namespace

Result<std::shared_ptr<const Source>> openStream(const StreamOptions &options) {
  StreamProgram program(options);
  const std::atomic<bool> never = false;
  DLC_ASSIGN(auto begun, program.begin({}, never));
  DLC_ASSIGN(StreamHeader header,
             parseStreamHeader(begun->line)
                 .withContext("'{}'", printable(program.name())));
  if (program.isInput() && header.samples != kEndlessSamples)
    return failed("standard input has \"samples\" in its header, but cannot "
                  "begin a second epoch: leave it out, or give --data-command");
  return std::make_shared<const StreamSource>(
      std::move(program), std::move(begun), std::move(header));
}

} // namespace dlc
