#include "runtime/train/run/ProgressBar.h"

#include "runtime/base/process/Log.h"

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

} // namespace

ProgressBar::ProgressBar(int64_t first, int64_t total, int64_t every,
                         bool visible)
    : first_(first), total_(total), every_(every), visible_(visible),
      terminal_(stderrIsTerminal()), step_(first), start_(Clock::now()),
      last_(start_) {}

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
    write("\r" + line(true) + "\x1b[K");
    open_ = true;
  } else {
    logLine(line(false));
  }
}

void ProgressBar::pause() {
  if (!visible_)
    return;
  if (terminal_ && (open_ || !shown_))
    write("\r" + line(true) + "\x1b[K\n");
  open_ = false;
  shown_ = true;
}

std::string ProgressBar::line(bool bar) const {
  const double elapsed =
      std::chrono::duration<double>(Clock::now() - start_).count();
  const double rate =
      elapsed > 0 ? static_cast<double>(step_ - first_) / elapsed : 0;
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
        fmt::format("  {}<{}  {:.1f} it/s", duration(elapsed),
                    duration(static_cast<double>(total_ - step_) / rate), rate);
  text += fmt::format("  loss {:.4g}  lr {:.3g}", loss_, lr_);
  if (waited_ >= 0.01)
    text += fmt::format("  data wait {:.0f} %", 100 * waited_);
  return text;
}

} // namespace dlc
