// SPDX-License-Identifier: Apache-2.0
// Training runs of `dlc`, and the numbers that they must give. cases.json is
// written where the artifacts are compiled; a path in it is relative to it.
#pragma once

#include "runtime/base/Json.h"
#include "test/gpu/Process.h"

#include <map>
#include <string>
#include <vector>

namespace dlc::test {

// Values of a metric by step, from elsewhere.
struct Expected {
  std::string key;  // "loss"
  std::string from; // "the CPU backend"
  std::vector<double> values;
  std::vector<double> tolerances; // relative, a value each
  // Instead of values, how often it is not 0: at least once, and at most
  // tolerances[0] times more or less often than expected.
  bool counts = false;
};

struct TrainingCase {
  std::string name; // "lenet_f32"
  std::string artifact, data;
  int64_t steps = 0;
  std::vector<std::string> words; // more flags of dlc train
  std::vector<Expected> expected;
  std::vector<std::string> checks; // besides the losses: see Training.cpp

  bool has(const std::string &check) const;
};

// Corrupt for a file that is no table of cases.
Result<std::vector<TrainingCase>> readCases(const std::string &path);

// A run of a case that has ended.
struct TrainingRun {
  Finished process;
  double firstStep = 0; // seconds from the start to the first line of metrics
  std::map<std::string, std::vector<double>> metrics; // NaN: null
  std::string state; // path of the last checkpoint's arrays
};

// Runs dlc in `folder`, which it makes. Not an error: a run that failed.
TrainingRun train(const std::string &dlc, const TrainingCase &c,
                  const std::string &folder,
                  const std::vector<std::string> &words = {});

// Empty, or the first step that is not as expected.
std::string compareMetrics(const TrainingRun &run, const Expected &expected);

} // namespace dlc::test
