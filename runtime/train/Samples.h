// SPDX-License-Identifier: Apache-2.0
// Opens the samples of a run: files, a program's own, or a stream.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/data/Dataset.h"
#include "runtime/train/Hooks.h"
#include "runtime/train/TrainOptions.h"
#include "runtime/train/metrics/Judge.h"

namespace dlc {

// The training samples of a rank. Code::Usage for options that these samples do
// not support, such as shuffling or augmentation of a stream.
Result<Judge::Sources> openSamples(const TrainOptions &options,
                                   const TrainHooks &hooks,
                                   const Communicator &ranks);
// The validation samples; empty without validation.
Result<Judge::Sources> openValidationSamples(const TrainOptions &options,
                                             const TrainHooks &hooks);

// Code::Usage if neither the samples nor the steps are limited.
Status checkEnd(const TrainOptions &options, const SizedData &data);

// Advice for a run whose steps wait for samples for this share of their time,
// on a machine with `ranks` ranks.
std::string adviceOnWaiting(const Dataset &data, double share, int ranks);

constexpr std::string_view kStandardInput = "-"; // as --data

} // namespace dlc
