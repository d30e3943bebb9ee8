// SPDX-License-Identifier: Apache-2.0
// Random parameters of augmentation, each a pure function of (seed, epoch,
// sample), independent of worker and rank.
#pragma once

#include "runtime/data/augment/Picture.h"

#include <array>

namespace dlc {

// Random numbers of one sample in one epoch. Each transform has a separate
// `stream`, so that enabling one does not change the numbers of another.
class SampleDraws {
public:
  SampleDraws(uint64_t seed, int64_t epoch, int64_t sample, uint32_t stream);

  // Uniform in [low, high), with 53 bits.
  double uniform(double low, double high);
  // Uniform in 0, ..., count - 1; count >= 1.
  int below(int count);

private:
  uint64_t next();

  uint64_t key_, low_;
  uint64_t high_; // low 32 bits of epoch, 8 of stream, 24 of counter
  std::array<uint64_t, 2> ready_ = {};
  int left_ = 0;
};

struct DrawRange {
  double low = 0, high = 0;
};

// torchvision's RandomResizedCrop: an area share from `area` and width / height
// from `ratio`, log-uniform; after ten failed tries the largest central box
// with a ratio in the range.
PictureBox drawCrop(PictureSize image, DrawRange area, DrawRange ratio,
                    SampleDraws &draws);

// torchvision's ColorJitter: three factors uniform in [max(0, 1 - x), 1 + x], a
// hue rotation in [-hue, hue], in random order. 0 disables an adjustment.
struct JitterRanges {
  double brightness = 0, contrast = 0, saturation = 0, hue = 0; // hue <= 0.5
};
struct Jitter {
  std::array<int, 4> order = {0, 1, 2, 3}; // the fields of JitterRanges
  std::array<double, 4> amount = {1, 1, 1, 0};
};
Jitter drawJitter(const JitterRanges &ranges, SampleDraws &draws);
void applyJitter(Picture &image, const Jitter &jitter);

} // namespace dlc
