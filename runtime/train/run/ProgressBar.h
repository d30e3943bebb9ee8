// SPDX-License-Identifier: Apache-2.0
// How a run shows where it is: one line that is rewritten on a terminal, a line
// every now and then elsewhere, or an object where messages are JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlc {

class ProgressBar {
public:
  // `first` of `total` steps are done already. `every`: steps between lines; 0:
  // two seconds, and on a terminal a tenth. A step takes `samples`, of all
  // ranks.
  ProgressBar(int64_t first, int64_t total, int64_t every, int64_t samples,
              bool visible);
  ~ProgressBar(); // leaves the last state on the screen

  // `waited`: the share of the time that steps waited for samples.
  void update(int64_t step, double loss, double lr, double waited);
  // Ends the line, so that something else can be printed.
  void pause();

private:
  using Clock = std::chrono::steady_clock;

  bool isDue(int64_t step, Clock::time_point now) const;
  double stepsPerSecond() const;
  // What is shown; on a narrow terminal those of the highest rank go first.
  struct Part {
    std::string text;
    int rank;
  };
  std::vector<Part> parts() const;
  // With a bar for a terminal of so many columns (0: not known), or without.
  std::string line(std::optional<size_t> width) const;
  std::string members() const; // of the object

  int64_t first_, total_, every_, samples_;
  bool visible_, terminal_;
  int64_t step_;
  double loss_ = 0, lr_ = 0, waited_ = 0;
  bool open_ = false, shown_ = true;
  Clock::time_point start_, last_;
};

} // namespace dlc
