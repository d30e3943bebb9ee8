// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/pictures/Bounds.h"
#include "runtime/data/pictures/Codecs.h"

#include <webp/decode.h>

namespace dlc {
namespace {

const uint8_t *bytesOf(std::span<const std::byte> file) {
  return reinterpret_cast<const uint8_t *>(file.data());
}

Result<WebPBitstreamFeatures> featuresOf(std::span<const std::byte> file) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(bytesOf(file), file.size(), &features) != VP8_STATUS_OK)
    return failed("damaged WebP: its header cannot be read");
  if (features.has_animation)
    return failed("WebP animation, expected one picture");
  DLC_TRY(checkPixels(features.width, features.height));
  return features;
}

constexpr int kLossless = 2; // WebPBitstreamFeatures::format

// Memory of libwebp besides the result: a lossless picture whole, at four bytes
// per pixel; otherwise some rows, and the alpha channel, which is lossless.
int64_t heldBytes(const WebPBitstreamFeatures &features) {
  const int64_t pixels = int64_t(features.width) * features.height;
  return features.format == kLossless ? pixels * 4
         : features.has_alpha         ? pixels * 2
                                      : 0;
}

} // namespace

Result<PictureSize> sizeOfWebp(std::span<const std::byte> file) {
  DLC_ASSIGN(const WebPBitstreamFeatures features, featuresOf(file));
  return PictureSize{features.height, features.width};
}

Result<Picture> decodeWebp(std::span<const std::byte> file, PictureSize least) {
  DLC_ASSIGN(const WebPBitstreamFeatures features, featuresOf(file));
  const PictureSize whole{features.height, features.width};
  const int reduction = reductionOf(whole, least);
  const PictureSize size = reduced(whole, reduction);
  const size_t result = size_t(size.width) * size_t(size.height) * 3;
  DLC_ASSIGN(const DecoderBytes bytes,
             DecoderBytes::take(heldBytes(features) + int64_t(result)));
  Picture picture{size.height, size.width, std::vector<uint8_t>(result)};
  WebPDecoderConfig config;
  WebPInitDecoderConfig(&config);
  config.options.use_scaling = reduction > 1;
  config.options.scaled_width = size.width;
  config.options.scaled_height = size.height;
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {picture.rgb.data(), size.width * 3, result};
  if (WebPDecode(bytesOf(file), file.size(), &config) != VP8_STATUS_OK)
    return failed("damaged WebP: its pixels cannot be read");
  return picture;
}

} // namespace dlc
