// SPDX-License-Identifier: Apache-2.0
// torchvision's MixUp and CutMix of a batch, including its labels. Each sample
// is mixed with the previous one of the update, the first with the last, across
// ranks.
#pragma once

#include "runtime/data/Dataset.h"

namespace dlc {

// Random parameters that all samples of an update share.
struct MixDraw {
  double share = 1; // weight of the sample's own label
  bool isCut = false;
  PictureBox box; // CutMix: the box taken from the other
};

// Parameters of the update that begins with sample `first` of an epoch. `size`
// is only needed by CutMix. If both are enabled, each has probability 1/2.
MixDraw drawMix(const SampleOptions &options, PictureSize size,
                const TrainingPass &pass, int64_t first);

// The parameters for a data set.
MixDraw drawMix(const Dataset &dataset, const TrainingPass &pass,
                int64_t first);

// Mixes sample `other` of batch `from` into sample `at` of `to`, which may be
// the same batch.
void mixSample(const Dataset &dataset, const MixDraw &draw,
               const std::vector<std::vector<std::byte>> &from, size_t other,
               std::vector<std::vector<std::byte>> &to, size_t at);

// Draws from Beta(alpha, alpha), alpha > 0.
double drawBeta(double alpha, SampleDraws &draws);

} // namespace dlc
