// SPDX-License-Identifier: Apache-2.0
// Turns a decoded picture into the pixels of a sample: crop, scale and training
// augmentation.
#pragma once

#include "runtime/data/augment/Picture.h"
#include "runtime/data/augment/Resize.h"

#include <array>

namespace dlc {

// Random parameters of augmentation, each a pure function of (seed, epoch,
// sample), independent of worker and rank.

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

// The part of a picture that training uses. Evaluation uses the centre.
enum class CropKind {
  Center, // like evaluation
  Random, // torchvision's RandomResizedCrop
  Padded, // torchvision's RandomCrop: padded with black
};

struct Augmentation {
  PictureFilter filter = PictureFilter::Bilinear;
  double cropPct = 1; // share of the scaled picture's side in the crop
  CropKind crop = CropKind::Center;
  DrawRange cropScale = {0.08, 1}, cropRatio = {3.0 / 4, 4.0 / 3}; // Random
  int cropPadding = 4;                                             // Padded
  double hflip = 0, vflip = 0; // probabilities
  JitterRanges jitter;

  // Whether anything but scaling is done, in training or evaluation.
  bool changes() const;
};

// Random number stream of each augmentation; the values must not change.
enum class DrawStream : uint32_t { Crop, Flips, Jitter = 3, Erase, Mix };

// The size, of the same aspect ratio, to which evaluation scales a picture so
// that the central `height` x `width` is cropPct of it.
PictureSize sizeToFit(PictureSize picture, PictureSize sample, double cropPct);

// Scales to sizeToFit() and takes the centre: torchvision's Resize and
// CenterCrop.
Picture fitted(const Picture &image, PictureSize sample,
               const Augmentation &how);

// Augments the result of fitted(), or a picture that was cropped already if the
// crop is Random: pads and crops, flips, jitters colours.
void augment(Picture &image, const Augmentation &how, uint64_t seed,
             int64_t epoch, int64_t sample);

} // namespace dlc
