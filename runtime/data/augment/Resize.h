// SPDX-License-Identifier: Apache-2.0
// Sizes and parts of images. Any thread; bit for bit as Pillow's.
#pragma once

#include "runtime/data/augment/Picture.h"

namespace dlc {

enum class PictureFilter { Nearest, Bilinear, Bicubic };

// The part `box` of the image, which must lie in it, as `height` x `width`
// pixels, all at least 1. Bilinear and bicubic (a = -0.5) are antialiased: when
// an image gets smaller the filter widens with it. Nothing outside of the box
// is read. Sums are of fixed point with 22 bits below the point, across and
// then down, rounded to bytes after each: as Pillow's in that order. Pillow 13
// goes down first where it finds that cheaper; last bits differ then, and more
// where bicubic overshoots.
Picture resizedCrop(const Picture &image, const PictureBox &box, int height,
                    int width, PictureFilter filter);

// The part of resizedCrop()'s result, of the whole image, that `part` says; no
// more than it is computed.
Picture resizedPart(const Picture &image, int height, int width,
                    const PictureBox &part, PictureFilter filter);

// The box of `height` x `width` in the middle of `fromHeight` x `fromWidth`,
// which is at least as large: torchvision's CenterCrop.
PictureBox middleBox(int fromHeight, int fromWidth, int height, int width);

Picture crop(const Picture &image, const PictureBox &box);
void flipHorizontally(Picture &image);
void flipVertically(Picture &image);

} // namespace dlc
