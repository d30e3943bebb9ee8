// SPDX-License-Identifier: Apache-2.0
// Batches mixed with themselves, their labels too: torchvision's MixUp and
// CutMix. Each sample meets the one before it in the update, the first one the
// last, whichever ranks have them.
#pragma once

#include "runtime/data/Dataset.h"

namespace dlc {

// One for all of an update.
struct MixDraw {
  double share = 1; // of the sample's own label; the rest is the other's
  bool isCut = false;
  PictureBox box; // if it is cut: what comes from the other
};

// Of the update that begins with sample `first` of an epoch; a picture's size
// if CutMix is asked for. With both, each half of the time.
MixDraw drawMix(const SampleOptions &options, PictureSize size,
                const TrainingPass &pass, int64_t first);

// The update's numbers for a data set.
MixDraw drawMix(const Dataset &dataset, const TrainingPass &pass,
                int64_t first);

// Mixes sample `other` of one batch into sample `at` of another, or of the
// same.
void mixSample(const Dataset &dataset, const MixDraw &draw,
               const std::vector<std::vector<std::byte>> &from, size_t other,
               std::vector<std::vector<std::byte>> &to, size_t at);

// Uniform numbers become one of Beta(alpha, alpha); alpha > 0.
double drawBeta(double alpha, SampleDraws &draws);

} // namespace dlc
