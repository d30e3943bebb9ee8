// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/run/ProgressBar.h"

#include "runtime/base/process/Log.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sys/ioctl.h>
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

// The memory that only this process has: not files that it has mapped, which
// the system takes back when it wants to. By a stream, as such a file says that
// it has no bytes.
uint64_t ownBytes() {
  uint64_t sum = 0;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    for (const std::string_view field : {"RssAnon:", "RssShmem:"})
      if (line.starts_with(field))
        sum += std::strtoull(line.c_str() + field.size(), nullptr, 10) * 1024;
  return sum;
}

// Columns of the terminal; 0: it does not say.
size_t terminalWidth() {
  struct winsize size {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
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
    write("\r" + line(terminalWidth()) + "\x1b[K");
    open_ = true;
  } else if (logsJson()) {
    logObject(members());
  } else {
    logLine(line({}));
  }
}

void ProgressBar::pause() {
  if (!visible_)
    return;
  if (terminal_ && (open_ || !shown_))
    write("\r" + line(terminalWidth()) + "\x1b[K\n");
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
      "\"seconds_left\": {}, \"data_wait\": {}, \"memory_bytes\": {}",
      step_, total_, number(loss_), number(lr_), number(rate),
      number(rate * static_cast<double>(samples_)),
      number(static_cast<double>(total_ - step_) / rate), number(waited_),
      ownBytes());
}

std::vector<ProgressBar::Part> ProgressBar::parts() const {
  const double elapsed =
      std::chrono::duration<double>(Clock::now() - start_).count();
  const double rate = stepsPerSecond();
  std::vector<Part> parts = {{fmt::format("{}/{}", step_, total_), 0}};
  if (rate > 0) {
    const double left = static_cast<double>(total_ - step_) / rate;
    parts.push_back({duration(elapsed) + "<" + duration(left), 1});
    parts.push_back({fmt::format("{:.1f} it/s", rate), 5});
    parts.push_back(
        {fmt::format("{:.4g} samples/s", rate * static_cast<double>(samples_)),
         3});
  }
  parts.push_back({fmt::format("loss {:.4g}", loss_), 0});
  parts.push_back({fmt::format("lr {:.3g}", lr_), 4});
  if (waited_ >= 0.01)
    parts.push_back({fmt::format("data wait {:.0f} %", 100 * waited_), 2});
  parts.push_back({fmt::format("{} MB", ownBytes() / 1'000'000), 4});
  return parts;
}

std::string ProgressBar::line(std::optional<size_t> width) const {
  std::vector<Part> all = parts();
  const auto joined = [&all] {
    std::string text;
    for (const Part &part : all)
      text += (text.empty() ? "" : "  ") + part.text;
    return text;
  };
  if (!width)
    return "step " + joined();
  // A longer line would be shown as two, and rewritten as one.
  const auto isTooLong = [&] { return *width && joined().size() >= *width; };
  while (isTooLong()) {
    const auto least =
        std::max_element(all.begin(), all.end(),
                         [](auto &a, auto &b) { return a.rank < b.rank; });
    if (least->rank == 0)
      return joined().substr(0, *width - 1);
    all.erase(least);
  }
  constexpr int64_t kWidth = 24;
  const int64_t full = total_ > 0 ? step_ * kWidth / total_ : kWidth;
  const std::string bar =
      fmt::format("[{:=<{}}{: <{}}] ", "", full, "", kWidth - full);
  const std::string text = joined();
  return *width && bar.size() + text.size() >= *width ? text : bar + text;
}

} // namespace dlc
