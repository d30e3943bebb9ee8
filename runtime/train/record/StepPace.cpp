// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/record/StepPace.h"

#include <cstdlib>
#include <fstream>

namespace dlc {

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

// Read as a stream, since files in /proc have a size of 0.
uint64_t bytesOfProcess() {
  uint64_t sum = 0;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    for (const std::string_view field : {"RssAnon:", "RssShmem:"})
      if (line.starts_with(field))
        sum += std::strtoull(line.c_str() + field.size(), nullptr, 10) * 1024;
  return sum;
}

} // namespace dlc
