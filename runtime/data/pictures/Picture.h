// Pictures in memory: decoded from JPEG, PNG or WebP to RGB, and brought to a
// model's size. Nothing in a file is trusted.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace dlc {

// Rows of pixels from the top, each red, green and blue, without padding.
struct Picture {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;

  const uint8_t *row(int y) const {
    return rgb.data() + size_t(y) * size_t(width) * 3;
  }
};

struct PictureSize {
  int width = 0, height = 0;
};

// No picture of more pixels is decoded: a few bytes of a file can claim any.
constexpr int64_t kMaxPixels = 90'000'000;

// "JPEG", "PNG" or "WebP" by the first bytes, whatever the file is called; ""
// for anything else.
std::string_view kindOfPicture(std::span<const std::byte> file);

// The size when decoded, by the header alone. Errors as decodePicture's.
Result<PictureSize> sizeOfPicture(std::span<const std::byte> file);

// The picture as RGB, turned upright as its EXIF says; transparency is left
// out, grey and CMYK become RGB. A JPEG may be decoded smaller, by 1/2, 1/4 or
// 1/8, as long as it covers `cover` as fitPicture() needs it; {0, 0}: as it is.
// Errors: no picture of these kinds, damaged or cut off, an animation, more
// than kMaxPixels. Any thread.
Result<Picture> decodePicture(std::span<const std::byte> file,
                              PictureSize cover);

// Pixels of the model: scaled with its proportions, until it just covers
// `size`, then the middle of it. Bilinear, each output pixel the mean of what
// it covers, as torchvision's Resize(antialias) and CenterCrop.
Picture fitPicture(const Picture &picture, PictureSize size);

} // namespace dlc
