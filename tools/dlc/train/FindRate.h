// SPDX-License-Identifier: Apache-2.0
// dlc train --find-lr, as one rank.
#pragma once

#include "runtime/train/find/RateTest.h"
#include "tools/dlc/Commands.h"

namespace dlc::tool {

// Tests, writes find-lr.{csv,svg,png} into options.run or the current folder,
// and prints the rate to take. Failed where the loss never falls.
RankEnd findRateAsRank(const TrainOptions &options, const RateTestOptions &test,
                       Communicator &communicator);

} // namespace dlc::tool
