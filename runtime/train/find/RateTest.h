// SPDX-License-Identifier: Apache-2.0
// The learning rate range test: a short training whose rate rises until the
// loss does (Smith, Cyclical Learning Rates for Training Neural Networks, 2017,
// arXiv:1506.01186, section 3.3; rising exponentially as fastai does it).
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/train/TrainOptions.h"

#include <span>

namespace dlc {

struct RateTestOptions {
  bool asked = false;           // --find-lr
  double low = 1e-7, high = 10; // --lr-min, --lr-max
  int64_t steps = 200;          // --lr-steps

  // As "run.find-lr" and so on; only of the command line.
  void addTo(OptionTable &table);
};

// One update: its rate, and the loss of the weights before it.
struct RateTestPoint {
  double lr = 0, loss = 0;
};

// What the losses say; nothing where they never fall by more than one standard
// deviation of their noise.
struct RateSuggestion {
  // The loss around each point: medians over a twentieth of the test, then
  // means with the weights of a triangle over a tenth; fewer at its ends, as
  // many on both sides, so that it neither lags nor leads.
  std::vector<double> smooth;
  // Where the smoothed loss falls fastest over the logarithm of the rate,
  // before its minimum.
  std::optional<double> steepest;
  // A tenth of the rate at the smoothed loss's minimum.
  std::optional<double> tenth;
};
RateSuggestion suggestRate(std::span<const RateTestPoint> points);

struct RateTestResult {
  std::vector<RateTestPoint> points;
  // The last loss was not finite, or above the least by three times the
  // larger of that and of what was gained before (running means). Then it is
  // the last point, and no part of the suggestion.
  bool diverged = false;
  int signal = 0; // that ended it
};

// Step i of N has the rate low * (high / low)^(i / (N - 1)), from the model's
// first state, which is kept nowhere; on all ranks of the communicator, with
// the same result. The compiled program moves parameters by a rate of its own:
// after each update the way that they went is made longer or shorter by the
// ratio of the rates, which, but for rounding, is the update at the other rate
// for every optimizer whose step is proportional to it. Usage for rmsprop_tf,
// whose moments hold the rate, for parameters that are not f32 or of which each
// rank has a part (--zero=3), and where the compiled rate is 0.
Result<RateTestResult> runRateTest(const TrainOptions &options,
                                   const RateTestOptions &test,
                                   Communicator &communicator);

// find-lr.csv (lr, loss, smoothed) in a folder, which is made if it is absent.
Status writeRateTest(const std::string &folder, const RateTestResult &result);

} // namespace dlc
