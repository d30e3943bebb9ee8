// SPDX-License-Identifier: Apache-2.0
// Normalisation and random erasing of a sample, after its conversion to f32.
#pragma once

#include "runtime/data/Source.h"
#include "runtime/data/pictures/ArrayLayout.h"

namespace dlc {

class Finish {
public:
  // For an input with samples of this shape. Immutable.
  Finish(const SampleOptions &options, const std::vector<int64_t> &sample);

  bool normalizes() const { return !mean_.empty(); }
  bool erases() const { return erase_ > 0; }
  // Applies torchvision's Normalize, and RandomErasing if there is a pass.
  void apply(std::span<float> values, int64_t row,
             const TrainingPass *pass) const;

private:
  void normalize(std::span<float> values) const;

  std::vector<float> mean_, std_; // per channel, or one for all
  bool planar_ = true;            // channels first
  double erase_ = 0;              // probability
  PixelLayout layout_;            // if erases()
};

// torchvision's RandomErasing: area 0.02 to 0.33 of the picture, width / height
// 0.3 to 3.3; a box of height 0 if ten tries fail.
PictureBox drawErased(PictureSize size, SampleDraws &draws);

} // namespace dlc
