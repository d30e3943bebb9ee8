// SPDX-License-Identifier: Apache-2.0
// Layout of a picture's pixels in a model's input.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/data/augment/Picture.h"

namespace dlc {

struct PixelLayout {
  PictureSize size;
  int channels = 3;
  bool planar = true; // channels first

  uint64_t bytes() const {
    return uint64_t(size.height) * uint64_t(size.width) * uint64_t(channels);
  }
};

// The layout of samples [3, H, W], [1, H, W], [H, W, 3] or [H, W, 1]; an error
// for other shapes.
Result<PixelLayout> layoutOf(const std::vector<int64_t> &shape);

// Writes layout.bytes() to `to`. One channel is luma (Rec. 601, Pillow's "L");
// a grey picture in three channels is replicated.
void layOut(const Picture &image, const PixelLayout &layout, std::byte *to);
Picture imageOf(const std::byte *from, const PixelLayout &layout);

} // namespace dlc
