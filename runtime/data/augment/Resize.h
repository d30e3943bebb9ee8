// SPDX-License-Identifier: Apache-2.0
// Resizing and cropping of images, bit-identical to Pillow. Thread-safe.
#pragma once

#include "runtime/data/augment/Picture.h"

namespace dlc {

enum class PictureFilter { Nearest, Bilinear, Bicubic };

// Resizes `box`, which must be inside of the image, to `height` x `width`
// pixels, all at least 1. Bilinear and bicubic (a = -0.5) are antialiased: the
// filter's support grows when downscaling. Pixels outside of the box are not
// read. Fixed-point sums with 22 fraction bits, first horizontal, then
// vertical, rounded to bytes after each, as in Pillow. Pillow 13 starts with
// the vertical pass where that is cheaper; then the last bits differ, and more
// where bicubic overshoots.
Picture resizedCrop(const Picture &image, const PictureBox &box, int height,
                    int width, PictureFilter filter);

// The rectangle `part` of the resized whole image; only this is computed.
Picture resizedPart(const Picture &image, int height, int width,
                    const PictureBox &part, PictureFilter filter);

// The central box of `height` x `width` in a picture at least as large:
// torchvision's CenterCrop.
PictureBox middleBox(int fromHeight, int fromWidth, int height, int width);

Picture crop(const Picture &image, const PictureBox &box);
void flipHorizontally(Picture &image);
void flipVertically(Picture &image);

} // namespace dlc
