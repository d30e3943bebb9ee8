// SPDX-License-Identifier: Apache-2.0
// From a decoded picture to the pixels of a sample: which part of it, in which
// size, and what is changed for training.
#pragma once

#include "runtime/data/augment/Draws.h"
#include "runtime/data/augment/Resize.h"

namespace dlc {

// Which part of a picture training takes. Evaluation takes the middle.
enum class CropKind {
  Center, // as evaluation
  Random, // torchvision's RandomResizedCrop
  Padded, // torchvision's RandomCrop: framed in black, then any part
};

struct Augmentation {
  PictureFilter filter = PictureFilter::Bilinear;
  double cropPct = 1; // of the scaled picture's side that its middle has
  CropKind crop = CropKind::Center;
  DrawRange cropScale = {0.08, 1}, cropRatio = {3.0 / 4, 4.0 / 3}; // Random
  int cropPadding = 4;                                             // Padded
  double hflip = 0, vflip = 0; // probabilities
  JitterRanges jitter;

  // Whether it does more than to scale, with a pass or without.
  bool changes() const;
};

// Who draws for a sample, and so the stream of its numbers, which stays.
enum class DrawStream : uint32_t { Crop, Flips, Jitter = 3, Erase, Mix };

// The size of a picture to which evaluation scales it, so that the middle of
// it, of `height` x `width`, is cropPct of it. With its proportions.
PictureSize sizeToFit(PictureSize picture, PictureSize sample, double cropPct);

// Scaled to sizeToFit(), and the middle of it: torchvision's Resize and
// CenterCrop.
Picture fitted(const Picture &image, PictureSize sample,
               const Augmentation &how);

// The sample in training of what fitted() gives; or, if the crop is Random, of
// what was cropped already: framed and moved, turned round, coloured.
void augment(Picture &image, const Augmentation &how, uint64_t seed,
             int64_t epoch, int64_t sample);

} // namespace dlc
