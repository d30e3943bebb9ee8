// SPDX-License-Identifier: Apache-2.0
// Colour adjustments, bit-identical to Pillow's ImageEnhance and torchvision's
// functions on Pillow images. Thread-safe.
#pragma once

#include "runtime/data/augment/Picture.h"

namespace dlc {

// 0.299 red + 0.587 green + 0.114 blue, in fixed point with 16 fraction bits.
int lumaOf(const uint8_t *rgb);

// Blends the image with a degenerate one: factor 0 gives that, 1 the image,
// greater factors extrapolate, clamped to 0 and 255. Factors >= 0.
void adjustBrightness(Picture &image, float factor); // from black
void adjustContrast(Picture &image,
                    float factor); // from its mean luma, one grey
void adjustSaturation(Picture &image, float factor); // from its luma, Rec. 601

// Rotates the hue by `turn` in [-0.5, 0.5] of the circle, in steps of 1/255.
void adjustHue(Picture &image, double turn);

} // namespace dlc
