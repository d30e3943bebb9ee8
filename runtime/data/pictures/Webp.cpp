// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/pictures/Codecs.h"

#include <webp/decode.h>

namespace dlc {
namespace {

const uint8_t *bytesOf(std::span<const std::byte> file) {
  return reinterpret_cast<const uint8_t *>(file.data());
}

} // namespace

Result<PictureSize> sizeOfWebp(std::span<const std::byte> file) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(bytesOf(file), file.size(), &features) != VP8_STATUS_OK)
    return failed("damaged WebP: its header cannot be read");
  if (features.has_animation)
    return failed("WebP animation, expected one picture");
  DLC_TRY(checkPixels(features.width, features.height));
  return PictureSize{features.height, features.width};
}

Result<Picture> decodeWebp(std::span<const std::byte> file) {
  DLC_ASSIGN(const PictureSize size, sizeOfWebp(file));
  Picture picture{size.height, size.width, {}};
  picture.rgb.resize(size_t(size.width) * size_t(size.height) * 3);
  if (!WebPDecodeRGBInto(bytesOf(file), file.size(), picture.rgb.data(),
                         picture.rgb.size(), size.width * 3))
    return failed("damaged WebP: its pixels cannot be read");
  return picture;
}

} // namespace dlc
