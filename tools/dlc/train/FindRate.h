// SPDX-License-Identifier: Apache-2.0
// dlc train --find-lr, on one rank.
#pragma once

#include "runtime/train/find/RateTest.h"
#include "tools/dlc/Commands.h"

namespace dlc::tool {

// Runs the test, writes find-lr.{csv,svg,png} to options.run or the current
// folder, and prints the suggested rate. Code::Failed if the loss never falls.
RankEnd findRateAsRank(const TrainOptions &options, const RateTestOptions &test,
                       Communicator &communicator);

} // namespace dlc::tool
