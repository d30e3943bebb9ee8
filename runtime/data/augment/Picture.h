// SPDX-License-Identifier: Apache-2.0
// Decoded pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dlc {

// Rows of RGB pixels from the top, values 0 to 255, without padding: height *
// width * 3 bytes.
struct Picture {
  int height = 0, width = 0;
  std::vector<uint8_t> rgb;

  const uint8_t *row(int y) const {
    return rgb.data() + size_t(y) * size_t(width) * 3;
  }
};

struct PictureSize {
  int height = 0, width = 0;
};

// A rectangle of an image, in pixels.
struct PictureBox {
  int top = 0, left = 0, height = 0, width = 0;

  bool operator==(const PictureBox &) const = default;
};

} // namespace dlc
