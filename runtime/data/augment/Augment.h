// SPDX-License-Identifier: Apache-2.0
// Turns a decoded picture into the pixels of a sample: crop, scale and training
// augmentation.
#pragma once

#include "runtime/data/augment/Draws.h"
#include "runtime/data/augment/Resize.h"

namespace dlc {

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
