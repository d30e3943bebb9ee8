// SPDX-License-Identifier: Apache-2.0
// Images moved, sheared and turned. Any thread; bit for bit as Pillow's, with
// nearest pixels and black outside.
#pragma once

#include "runtime/data/augment/Picture.h"

#include <array>

namespace dlc {

// Pixel (x, y) of the result is that at (m0 x + m1 y + m2, m3 x + m4 y + m5).
void warp(Picture &image, const std::array<double, 6> &m);

// As torchvision's affine() of one kind: along x by tan(degrees) for each pixel
// down, about the corner; by whole pixels.
void shearX(Picture &image, double degrees);
void shearY(Picture &image, double degrees);
void translate(Picture &image, int x, int y);
// About the middle, counter-clockwise.
void rotate(Picture &image, double degrees);

} // namespace dlc
