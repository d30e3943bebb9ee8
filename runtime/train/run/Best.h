// SPDX-License-Identifier: Apache-2.0
// The best of a run's validations, and how long there has been no better one.
#pragma once

#include "runtime/train/metrics/Metrics.h"

#include <cmath>
#include <string>

namespace dlc {

// Kept in checkpoints, so that a run that goes on decides as one that was not
// interrupted.
struct Best {
  double value = NAN;
  int64_t step = -1; // whose checkpoint is kept; below 0: none
  // What a validation must beat by the least difference, and how many in a row
  // have not.
  double reference = NAN;
  int64_t waited = 0;
};

// What `--best` asks for: "accuracy", "ema_f1.macro", "loss".
struct BestBy {
  std::string key;    // of a validation's values: "val_accuracy"
  std::string metric; // "accuracy"
  bool more = false;  // is better
};
// Code::Usage for what is no metric, or no number.
Result<BestBy> parseBest(const std::string &text);

// After a validation; true if it is the best so far. What is not a number
// never is.
bool takeValue(Best &best, double value, int64_t step, bool more,
               double minDelta);

// Makes RUN/best a link to the checkpoint of this step, in one step; below 0,
// or where there is no such checkpoint: no link. An error is a warning.
void linkBest(const std::string &run, int64_t step);

} // namespace dlc
