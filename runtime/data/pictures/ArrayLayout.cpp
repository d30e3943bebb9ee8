// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/pictures/ArrayLayout.h"

#include "runtime/data/augment/Colour.h"

#include <cstring>

namespace dlc {

Result<PixelLayout> layoutOf(const std::vector<int64_t> &shape) {
  constexpr int64_t kMost = 1 << 15;
  const auto isCount = [](int64_t n) { return n == 1 || n == 3; };
  if (shape.size() == 3)
    for (const size_t at : {size_t(0), size_t(2)}) {
      const int64_t height = shape[at == 0 ? 1 : 0];
      const int64_t width = shape[at == 0 ? 2 : 1];
      if (isCount(shape[at]) && height > 0 && width > 0 && height <= kMost &&
          width <= kMost)
        return PixelLayout{{int(height), int(width)}, int(shape[at]), at == 0};
    }
  return failed("pictures cannot be samples of shape [{}], expected [3, H, W], "
                "[1, H, W], [H, W, 3] or [H, W, 1]",
                fmt::join(shape, ", "));
}

void layOut(const Picture &image, const PixelLayout &layout, std::byte *to) {
  auto *out = reinterpret_cast<uint8_t *>(to);
  const size_t pixels = image.rgb.size() / 3;
  if (layout.channels == 1) {
    for (size_t i = 0; i < pixels; ++i)
      out[i] = uint8_t(lumaOf(&image.rgb[i * 3]));
  } else if (!layout.planar) {
    std::memcpy(out, image.rgb.data(), image.rgb.size());
  } else {
    for (size_t c = 0; c < 3; ++c)
      for (size_t i = 0; i < pixels; ++i)
        out[c * pixels + i] = image.rgb[i * 3 + c];
  }
}

Picture imageOf(const std::byte *from, const PixelLayout &layout) {
  const auto *in = reinterpret_cast<const uint8_t *>(from);
  Picture image{layout.size.height, layout.size.width, {}};
  const auto pixels = size_t(image.height) * size_t(image.width);
  image.rgb.resize(pixels * 3);
  const bool isGrey = layout.channels == 1;
  for (size_t i = 0; i < pixels; ++i)
    for (size_t c = 0; c < 3; ++c)
      image.rgb[i * 3 + c] = isGrey          ? in[i]
                             : layout.planar ? in[c * pixels + i]
                                             : in[i * 3 + c];
  return image;
}

} // namespace dlc
