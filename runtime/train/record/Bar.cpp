// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/Text.h"

#include "runtime/base/process/Log.h"
#include "runtime/train/record/Recorder.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sys/ioctl.h>
#include <unistd.h>

namespace dlc {
namespace {

// Speed of the steps of this process, and when to show its progress.
class StepPace {
public:
  using Clock = std::chrono::steady_clock;

  // Shows progress every options.logEvery steps, or after `interval` if that is
  // 0.
  StepPace(const Recorded &of, std::chrono::milliseconds interval)
      : first_(of.progress.step), total_(of.setup.total),
        every_(of.setup.options.logEvery),
        samples_(of.setup.sampling.samplesOfUpdate()), interval_(interval) {}

  void start() { start_ = last_ = Clock::now(); }
  // Records the step; true if progress is to be shown.
  bool reaches(int64_t step);
  // The time until the next call of reaches() is not counted as steps.
  void pause() { paused_ = Clock::now(); }
  void resume() { between_ += Clock::now() - paused_; }

  int64_t step() const { return step_; }
  int64_t total() const { return total_; }
  double seconds() const;
  double stepsPerSecond() const;
  double samplesPerSecond() const { // of all ranks
    return stepsPerSecond() * double(samples_);
  }
  double secondsLeft() const {
    return double(total_ - step_) / stepsPerSecond();
  }

private:
  int64_t first_, total_, every_, samples_;
  std::chrono::milliseconds interval_;
  int64_t step_ = first_;
  Clock::time_point start_ = Clock::now(), last_ = start_, paused_;
  Clock::duration between_{};
};

bool StepPace::reaches(int64_t step) {
  step_ = step;
  const Clock::time_point now = Clock::now();
  const bool isDue = step == total_ || (every_ > 0 ? step % every_ == 0
                                                   : now - last_ >= interval_);
  if (isDue)
    last_ = now;
  return isDue;
}

double StepPace::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

double StepPace::stepsPerSecond() const {
  const double elapsed =
      seconds() - std::chrono::duration<double>(between_).count();
  return elapsed > 0 ? double(step_ - first_) / elapsed : 0;
}

// Bytes of memory private to this process, without mapped files, which the
// system can reclaim. Read as a stream, since files in /proc have a size of 0.
uint64_t bytesOfProcess() {
  uint64_t sum = 0;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    for (const std::string_view field : {"RssAnon:", "RssShmem:"})
      if (line.starts_with(field))
        sum += std::strtoull(line.c_str() + field.size(), nullptr, 10) * 1024;
  return sum;
}

std::string durationText(double seconds) {
  int64_t total = int64_t(seconds);
  if (total >= 3600)
    return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60,
                       total % 60);
  return fmt::format("{:02}:{:02}", total / 60, total % 60);
}

// Columns of the terminal; 0 if unknown.
size_t terminalWidth() {
  struct winsize size {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// A part of the line; narrow terminals omit those of the highest rank.
struct ShownPart {
  std::string text;
  int rank;
};

std::string lineOf(const std::vector<ShownPart> &parts) {
  return joined(parts, "  ", &ShownPart::text);
}

class Bar : public Recorder {
public:
  explicit Bar(const Recorded &of)
      : terminal_(stderrIsTerminal()),
        pace_(of, std::chrono::milliseconds(terminal_ ? 100 : 2000)),
        epochs_(of.setup.options.epochs) {}
  ~Bar() override { onPause(); } // leaves the last state on the screen

  void onStart(const Progress &) override { pace_.start(); }

  void onStep(const StepEvent &event) override {
    loss_ = metricOf(event, "loss");
    lr_ = metricOf(event, "lr");
    waited_ = event.shareWaited;
    epoch_ = event.epoch + 1;
    shown_ = pace_.reaches(event.step);
    if (shown_ && terminal_) {
      write(barText(terminalWidth()));
      open_ = true;
    } else if (shown_) {
      logProgress(lineOf(parts()));
    }
  }

  void onPause() override {
    if (validates_)
      write(""); // an error message follows
    else if (terminal_ && (open_ || !shown_))
      write(barText(terminalWidth()) + "\n");
    open_ = validates_ = false;
    shown_ = true;
    pace_.pause();
  }
  void onValidating(double share) override {
    const auto now = StepPace::Clock::now();
    if (!terminal_ ||
        (share < 1 && now - told_ < std::chrono::milliseconds(100)))
      return;
    told_ = now;
    validates_ = share < 1;
    const std::string text =
        fmt::format("validation {} {:.0f} %", fullText(share), 100 * share);
    const size_t width = terminalWidth();
    write(!validates_ ? "" : width ? text.substr(0, width - 1) : text);
  }
  void onValidation(const ValidationEvent &) override { pace_.resume(); }
  void onSaved(const SavedEvent &event) override {
    if (event.asked)
      onPause(); // a message follows
  }
  void onEnd(const EndEvent &) override { onPause(); }

private:
  static void write(const std::string &text) {
    const std::string line = "\r\x1b[K" + text;
    [[maybe_unused]] const ssize_t written =
        ::write(STDERR_FILENO, line.data(), line.size());
  }

  std::vector<ShownPart> parts() const {
    const std::string epochs = epochs_ ? fmt::format("/{}", epochs_) : "";
    std::vector<ShownPart> parts = {
        {fmt::format("epoch {}{}", epoch_, epochs), 2},
        {fmt::format("step {}/{}", pace_.step(), pace_.total()), 0}};
    if (const double rate = pace_.stepsPerSecond(); rate > 0) {
      parts.push_back({durationText(pace_.seconds()) + "<" +
                           durationText(pace_.secondsLeft()),
                       1});
      parts.push_back({fmt::format("{:.1f} it/s", rate), 5});
      parts.push_back(
          {fmt::format("{:.4g} samples/s", pace_.samplesPerSecond()), 3});
    }
    parts.push_back({fmt::format("loss {:.4g}", loss_), 0});
    parts.push_back({fmt::format("lr {:.3g}", lr_), 4});
    if (waited_ >= 0.01)
      parts.push_back({fmt::format("data wait {:.0f} %", 100 * waited_), 2});
    parts.push_back({fmt::format("{} MB", bytesOfProcess() / 1'000'000), 4});
    return parts;
  }

  // The line for a terminal of `width` columns (0: unknown); a longer one would
  // wrap and could not be rewritten.
  std::string barText(size_t width) const {
    std::vector<ShownPart> all = parts();
    while (width && lineOf(all).size() >= width) {
      const auto least = std::ranges::max_element(all, {}, &ShownPart::rank);
      if (least->rank == 0)
        return lineOf(all).substr(0, width - 1);
      all.erase(least);
    }
    const std::string bar =
                          fullText(pace_.total() > 0 ? double(pace_.step()) /
                                                           double(pace_.total())
                                                     : 1) +
                          " ",
                      text = lineOf(all);
    return width && bar.size() + text.size() >= width ? text : bar + text;
  }

  static std::string fullText(double share) {
    constexpr int kWidth = 24;
    const int full = int(share * kWidth);
    return fmt::format("[{:=<{}}{: <{}}]", "", full, "", kWidth - full);
  }

  const bool terminal_;
  StepPace pace_;
  StepPace::Clock::time_point told_;
  const int64_t epochs_;
  int64_t epoch_ = 0;
  double loss_ = 0, lr_ = 0, waited_ = 0;
  bool open_ = false, shown_ = true, validates_ = false;
};

using namespace std::chrono_literals;

std::string finiteOr(const char *format, double value) {
  return std::isfinite(value) ? fmt::format(fmt::runtime(format), value)
                              : "null";
}

class JsonLog : public Recorder {
public:
  explicit JsonLog(const Recorded &of)
      : pace_(of, 2000ms), isQuiet_(of.setup.options.quiet) {}

  void onStart(const Progress &) override { pace_.start(); }

  void onStep(const StepEvent &event) override {
    if (isQuiet_ || !pace_.reaches(event.step))
      return;
    const auto number = [](double value) { return finiteOr("{:.6g}", value); };
    logObject(fmt::format(
        "\"event\": \"progress\", \"step\": {}, \"steps\": {}, \"loss\": {}, "
        "\"lr\": {}, \"steps_per_second\": {}, \"samples_per_second\": {}, "
        "\"seconds_left\": {}, \"data_wait\": {}, \"memory_bytes\": {}",
        pace_.step(), pace_.total(), number(metricOf(event, "loss")),
        number(metricOf(event, "lr")), number(pace_.stepsPerSecond()),
        number(pace_.samplesPerSecond()), number(pace_.secondsLeft()),
        number(event.shareWaited), bytesOfProcess()));
  }

  void onPause() override { pace_.pause(); }
  void onValidation(const ValidationEvent &) override { pace_.resume(); }

  void onEpoch(const EpochEvent &event) override {
    const std::string values = joined(event.values, ", ", [](auto &value) {
      return fmt::format("\"{}\": {}", value.first,
                         finiteOr("{}", value.second));
    });
    logObject(fmt::format(
        "\"event\": \"epoch\", \"epoch\": {}, \"step\": {}, \"values\": {{{}}}",
        event.epoch, event.step, values));
  }

private:
  StepPace pace_;
  const bool isQuiet_;
};

} // namespace

MadeRecorder openBar(const Recorded &of) {
  if (of.setup.options.quiet || logsJson())
    return nullptr;
  return std::make_unique<Bar>(of);
}

MadeRecorder openJsonLog(const Recorded &of) {
  if (!logsJson())
    return nullptr;
  return std::make_unique<JsonLog>(of);
}

} // namespace dlc
