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
  // Calls act(offset, count) for each row of adjacent values in a box.
  template <class F> void eachRow(const PictureBox &box, F &&act) const {
    const int planes = planar ? channels : 1, wide = planar ? 1 : channels;
    for (int p = 0; p < planes; ++p)
      for (int y = box.top; y < box.top + box.height; ++y)
        act((ptrdiff_t(p * size.height + y) * size.width + box.left) * wide,
            box.width * wide);
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
