// SPDX-License-Identifier: Apache-2.0
// A program as a child of a test.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace dlc::test {

struct Finished {
  int code = -1; // of exit; 128 + the signal that ended it
  bool late = false;
  std::string out, err; // the last 64 KiB of each
  double seconds = 0;
};

// Runs words[0], with `variables` ("NAME=value") added to the environment, and
// kills it after `limit` seconds. `watch` is called each millisecond with the
// seconds since the start.
Finished runProcess(const std::vector<std::string> &words,
                    const std::vector<std::string> &variables = {},
                    double limit = 300,
                    const std::function<void(double)> &watch = {});

} // namespace dlc::test
