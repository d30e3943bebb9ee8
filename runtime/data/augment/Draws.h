// SPDX-License-Identifier: Apache-2.0
// What is random in augmentation: parameters, each a pure function of (seed,
// epoch, sample), whatever worker or rank makes the sample.
#pragma once

#include "runtime/data/augment/Picture.h"

#include <array>

namespace dlc {

// The numbers of one sample in one epoch, in their order. Two transforms of a
// sample have draws of their own, by `stream`, so that one option does not
// change what another draws.
class SampleDraws {
public:
  SampleDraws(uint64_t seed, int64_t epoch, int64_t sample, uint32_t stream);

  // Uniform in [low, high), of 53 bits.
  double uniform(double low, double high);
  // Each of 0 .. count - 1 alike; count >= 1.
  int below(int count);

private:
  uint64_t next();

  uint64_t key_, low_;
  uint64_t high_; // the epoch's low 32 bits, the stream's 8, a count of 24
  std::array<uint64_t, 2> ready_ = {};
  int left_ = 0;
};

struct DrawRange {
  double low = 0, high = 0;
};

// torchvision's RandomResizedCrop: a share of the area from `area` and width /
// height from `ratio`, uniform in its logarithm; ten tries, then the largest
// box in the middle with a ratio in the range.
PictureBox drawCrop(PictureSize image, DrawRange area, DrawRange ratio,
                    SampleDraws &draws);

// torchvision's ColorJitter: three factors uniform in [max(0, 1 - x), 1 + x],
// the hue's turn in [-hue, hue], done in random order. 0 leaves one out.
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
