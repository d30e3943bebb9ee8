// SPDX-License-Identifier: Apache-2.0
// What a benchmark needs besides a plan, made where it runs, so that models of
// gigabytes travel as kilobytes.
#pragma once

#include "runtime/plan/Artifact.h"

#include <functional>

namespace dlc::bench {

// Replaces the weights of an artifact: float arrays above 16 KiB by their mean
// and spread, which is all that a benchmark asks of them. The artifact cannot
// be opened until growState() has drawn numbers like them.
Status shrinkState(const std::string &artifact);
Status growState(const std::string &artifact);

// Random content for a port: indices below its limit, floats in [-1, 1).
std::vector<std::byte> randomInput(const plan::TensorType &type, int64_t limit,
                                   uint64_t seed);

// A data file of `batches` batches for training: x as u8 where it is float, as
// images are kept, and y.
Status writeData(const plan::Plan &plan, int batches, const std::string &path);

// train_step of a plan; Failed if it has none.
Result<const plan::Program *> trainingStep(const plan::Plan &plan);

} // namespace dlc::bench
