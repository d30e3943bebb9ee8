// Sizes and parts of images. Any thread; bit for bit as Pillow's.
#pragma once

#include "runtime/data/augment/Image.h"

namespace dlc {

enum class ImageFilter { Nearest, Bilinear, Bicubic };

// The part `box` of the image, which must lie in it, as `height` x `width`
// pixels, all at least 1. Bilinear and bicubic (a = -0.5) are antialiased: when
// an image gets smaller the filter widens with it. Nothing outside of the box
// is read. Sums are of fixed point with 22 bits below the point, across and
// then down, rounded to bytes after each: as Pillow's in that order. Pillow 13
// goes down first where it finds that cheaper; last bits differ then, and more
// where bicubic overshoots.
Image resizedCrop(const Image &image, const ImageBox &box, int height,
                  int width, ImageFilter filter);

// The box of this size in the middle of an image that is at least as large:
// torchvision's CenterCrop.
ImageBox centreBox(const Image &image, int height, int width);

Image crop(const Image &image, const ImageBox &box);
void flipHorizontally(Image &image);
void flipVertically(Image &image);

} // namespace dlc
