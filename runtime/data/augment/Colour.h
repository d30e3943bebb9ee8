// Colours of images. Any thread; bit for bit what Pillow's ImageEnhance and
// torchvision's functions on Pillow's images give.
#pragma once

#include "runtime/data/augment/Image.h"

namespace dlc {

// Each moves the image away from something plainer: 0 gives that, 1 the image
// as it is, more goes on beyond it, cut off at 0 and 255. Factors >= 0.
void adjustBrightness(Image &image, float factor); // from black
void adjustContrast(Image &image, float factor); // from its mean luma, one grey
void adjustSaturation(Image &image, float factor); // from its luma, Rec. 601

// Turns the hue by -0.5 to 0.5 of the circle, in steps of 1/255.
void adjustHue(Image &image, double turn);

// Luma of each pixel in all three channels.
void makeGrey(Image &image);

} // namespace dlc
