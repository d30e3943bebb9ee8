#include "runtime/train/run/ProgressBar.h"

#include "runtime/base/process/Log.h"

#include <cmath>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace dlc {
namespace {

using namespace std::chrono_literals;

std::string duration(double seconds) {
  int64_t total = static_cast<int64_t>(seconds);
  if (total >= 3600)
    return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60,
                       total % 60);
  return fmt::format("{:02}:{:02}", total / 60, total % 60);
}

void write(const std::string &text) {
  [[maybe_unused]] ssize_t written =
      ::write(STDERR_FILENO, text.data(), text.size());
}

// The most memory that this process has had.
uint64_t peakBytes() {
  struct rusage used {};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<uint64_t>(used.ru_maxrss) * 1024;
}

// A longer line would be shown as two, and rewritten as one.
std::string cutToTerminal(std::string text) {
  struct winsize size {};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 &&
      text.size() >= size.ws_col)
    text.resize(size.ws_col - 1U);
  return text;
}

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "null";
}

} // namespace

ProgressBar::ProgressBar(int64_t first, int64_t total, int64_t every,
                         int64_t samples, bool visible)
    : first_(first), total_(total), every_(every), samples_(samples),
      visible_(visible), terminal_(stderrIsTerminal() && !logsJson()),
      step_(first), start_(Clock::now()), last_(start_) {}

ProgressBar::~ProgressBar() { pause(); }

bool ProgressBar::isDue(int64_t step, Clock::time_point now) const {
  if (step == total_ || (every_ > 0 && step % every_ == 0))
    return true;
  if (every_ > 0)
    return false;
  return now - last_ >= (terminal_ ? 100ms : 2000ms);
}

void ProgressBar::update(int64_t step, double loss, double lr, double waited) {
  step_ = step;
  loss_ = loss;
  lr_ = lr;
  waited_ = waited;
  shown_ = false;
  auto now = Clock::now();
  if (!visible_ || !isDue(step, now))
    return;
  last_ = now;
  shown_ = true;
  if (terminal_) {
    write("\r" + cutToTerminal(line(true)) + "\x1b[K");
    open_ = true;
  } else if (logsJson()) {
    logObject(members());
  } else {
    logLine(line(false));
  }
}

void ProgressBar::pause() {
  if (!visible_)
    return;
  if (terminal_ && (open_ || !shown_))
    write("\r" + cutToTerminal(line(true)) + "\x1b[K\n");
  open_ = false;
  shown_ = true;
}

double ProgressBar::stepsPerSecond() const {
  const std::chrono::duration<double> elapsed = Clock::now() - start_;
  return elapsed.count() > 0
             ? static_cast<double>(step_ - first_) / elapsed.count()
             : 0;
}

std::string ProgressBar::members() const {
  const double rate = stepsPerSecond();
  return fmt::format(
      "\"event\": \"progress\", \"step\": {}, \"steps\": {}, \"loss\": {}, "
      "\"lr\": {}, \"steps_per_second\": {}, \"samples_per_second\": {}, "
      "\"seconds_left\": {}, \"data_wait\": {}, \"peak_memory_bytes\": {}",
      step_, total_, number(loss_), number(lr_), number(rate),
      number(rate * static_cast<double>(samples_)),
      number(static_cast<double>(total_ - step_) / rate), number(waited_),
      peakBytes());
}

std::string ProgressBar::line(bool bar) const {
  const double elapsed =
      std::chrono::duration<double>(Clock::now() - start_).count();
  const double rate = stepsPerSecond();
  std::string text = fmt::format("{}/{}", step_, total_);
  if (bar) {
    constexpr int64_t kWidth = 24;
    const int64_t full = total_ > 0 ? step_ * kWidth / total_ : kWidth;
    text =
        fmt::format("[{:=<{}}{: <{}}] {}", "", full, "", kWidth - full, text);
  } else {
    text = "step " + text;
  }
  if (rate > 0)
    text +=
        fmt::format("  {}<{}  {:.1f} it/s  {:.4g} samples/s", duration(elapsed),
                    duration(static_cast<double>(total_ - step_) / rate), rate,
                    rate * static_cast<double>(samples_));
  text += fmt::format("  loss {:.4g}  lr {:.3g}", loss_, lr_);
  if (waited_ >= 0.01)
    text += fmt::format("  data wait {:.0f} %", 100 * waited_);
  text += fmt::format("  {} MB", peakBytes() / 1'000'000);
  return text;
}

} // namespace dlc
