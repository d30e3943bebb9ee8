// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/train/FindRate.h"

namespace dlc::tool {
namespace {

std::string rateText(double rate) { return fmt::format("{:.3g}", rate); }

Status tellRates(const RateTestResult &result, const RateTestOptions &test,
                 const std::string &folder) {
  std::span<const RateTestPoint> points = result.points;
  if (result.diverged) {
    info("the loss diverged at step {}, learning rate {}", points.size(),
         rateText(points.back().lr));
    points = points.first(points.size() - 1);
  }
  const RateSuggestion found = suggestRate(points);
  if (!found.steepest)
    return failed("the loss falls nowhere by more than its noise between the "
                  "learning rates {} and "
                  "{}: see '{}/find-lr.csv'; try other --lr-min and --lr-max, "
                  "more --lr-steps or a larger batch",
                  test.low, test.high, folder);
  info("the loss falls fastest at learning rate {}; a tenth of the rate of the "
       "smallest loss is {}; see '{}/find-lr.csv'",
       rateText(*found.steepest), rateText(*found.tenth), folder);
  printOut("{}\n", rateText(*found.steepest));
  return {};
}

} // namespace

RankEnd findRateAsRank(const TrainOptions &options, const RateTestOptions &test,
                       Communicator &communicator) {
  const bool isRoot = communicator.rank() == 0;
  const auto result = runRateTest(options, test, communicator);
  if (!result)
    return endOf(result.status(),
                 isRoot || result.status().code() == Code::PeerLost);
  if (result->signal && isRoot)
    warning("stopped by signal {}: nothing is written", result->signal);
  if (result->signal)
    return {128 + result->signal};
  if (!isRoot)
    return {};
  const std::string folder = options.run.empty() ? "." : options.run;
  Status told = writeRateTest(folder, *result);
  if (told.ok())
    told = tellRates(*result, test, folder);
  return endOf(told);
}

} // namespace dlc::tool
