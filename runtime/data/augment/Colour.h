// SPDX-License-Identifier: Apache-2.0
// Colours of images. Any thread; bit for bit what Pillow's ImageEnhance and
// torchvision's functions on Pillow's images give.
#pragma once

#include "runtime/data/augment/Picture.h"

namespace dlc {

// Each moves the image away from something plainer: 0 gives that, 1 the image
// as it is, more goes on beyond it, cut off at 0 and 255. Factors >= 0.
void adjustBrightness(Picture &image, float factor); // from black
void adjustContrast(Picture &image,
                    float factor); // from its mean luma, one grey
void adjustSaturation(Picture &image, float factor); // from its luma, Rec. 601

// Turns the hue by -0.5 to 0.5 of the circle, in steps of 1/255.
void adjustHue(Picture &image, double turn);

} // namespace dlc
