// SPDX-License-Identifier: Apache-2.0
// torchvision's RandAugment and TrivialAugmentWide.
#pragma once

#include "runtime/data/augment/Draws.h"

namespace dlc {

struct Policy {
  enum class Kind {
    None,
    Rand,    // `ops` changes, each of strength `magnitude` of 0 to 30
    Trivial, // one change, of any strength
  };
  Kind kind = Kind::None;
  int ops = 2, magnitude = 9;
};

// The changes that a policy draws from, as torchvision calls them.
enum class PictureChange {
  Identity,
  ShearX, // by the tangent
  ShearY,
  TranslateX, // by pixels
  TranslateY,
  Rotate,     // by degrees, counter-clockwise
  Brightness, // by a factor of 1 + amount
  Color,
  Contrast,
  Sharpness,
  Posterize, // to so many bits
  Solarize,  // from this value on
  AutoContrast,
  Equalize,
};

// The amount of strength `index`, 0 to 30, in an image of this size; without
// its sign.
double amountOf(Policy::Kind kind, PictureChange change, int index,
                PictureSize size);

// Bit for bit what torchvision's _apply_op does to Pillow's images, with
// nearest pixels and black outside.
void applyChange(Picture &image, PictureChange change, double amount);

void applyPolicy(Picture &image, const Policy &policy, SampleDraws &draws);

} // namespace dlc
