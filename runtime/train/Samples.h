// SPDX-License-Identifier: Apache-2.0
// What a run trains on: files, a program's own samples, or those that come
// from another program.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/data/Dataset.h"
#include "runtime/train/Hooks.h"
#include "runtime/train/TrainOptions.h"
#include "runtime/train/metrics/Judge.h"

namespace dlc {

// The training samples of a rank. Code::Usage: what such samples cannot have,
// as a stream no order of its own and no augmentation.
Result<Judge::Sources> openSamples(const TrainOptions &options,
                                   const TrainHooks &hooks,
                                   const Communicator &ranks);
// Those that judge it; none: it is not judged.
Result<Judge::Sources> openValidationSamples(const TrainOptions &options,
                                             const TrainHooks &hooks);

// Code::Usage if the run has no end: neither samples nor steps are counted.
Status checkEnd(const TrainOptions &options, const SizedData &data);

// What would help steps that wait for samples for this share of their time, on
// a machine with so many ranks.
std::string adviceOnWaiting(const Dataset &data, double share, int ranks);

constexpr std::string_view kStandardInput = "-"; // as --data

} // namespace dlc
