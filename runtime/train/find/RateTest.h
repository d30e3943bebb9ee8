// SPDX-License-Identifier: Apache-2.0
// The learning rate range test: a short training with an increasing rate, until
// the loss increases (Smith, Cyclical Learning Rates for Training Neural
// Networks, 2017, arXiv:1506.01186, section 3.3; exponential as in fastai).
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/train/TrainOptions.h"

#include <span>

namespace dlc {

struct RateTestOptions {
  bool asked = false;           // --find-lr
  double low = 1e-7, high = 10; // --lr-min, --lr-max
  int64_t steps = 200;          // --lr-steps

  // Adds rows "run.find-lr" etc., for the command line only.
  void addTo(OptionTable &table);
};

// Rate of an update, and the loss before it.
struct RateTestPoint {
  double lr = 0, loss = 0;
};

// Suggested rates; unset if the losses never fall by more than one standard
// deviation of their noise.
struct RateSuggestion {
  // Smoothed loss at each point: medians over a twentieth of the test, then
  // triangle-weighted means over a tenth; windows are symmetric and shrink at
  // the ends, so that the curve is not shifted.
  std::vector<double> smooth;
  // Rate before the minimum at which the smoothed loss falls fastest with
  // respect to the logarithm of the rate.
  std::optional<double> steepest;
  // A tenth of the rate at the smoothed loss's minimum.
  std::optional<double> tenth;
};
RateSuggestion suggestRate(std::span<const RateTestPoint> points);

struct RateTestResult {
  std::vector<RateTestPoint> points;
  // The last loss was not finite, or the running mean exceeded its minimum m by
  // more than three times the larger of |m| and its first value minus m. Then
  // the last point is not used for the suggestion.
  bool diverged = false;
  int signal = 0; // that ended the test
};

// Step i of N has the rate low * (high / low)^(i / (N - 1)). Starts at the
// model's initial state; writes no state. Collective, with the same result on
// all ranks. The program updates parameters with its compiled rate: after each
// update the parameters' change is multiplied by the ratio of the rates, which
// is equal (except for rounding) to the update with the other rate for
// optimizers whose step is proportional to it. Code::Usage for rmsprop_tf,
// whose moments include the rate, for parameters that are not f32 or are split
// over ranks (--zero=3), and for a compiled rate of 0.
Result<RateTestResult> runRateTest(const TrainOptions &options,
                                   const RateTestOptions &test,
                                   Communicator &communicator);

// Writes find-lr.csv (lr, loss, smoothed) to a folder, created if missing.
Status writeRateTest(const std::string &folder, const RateTestResult &result);

} // namespace dlc
