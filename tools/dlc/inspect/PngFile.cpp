// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/inspect/PngFile.h"

#include <new>
#include <png.h>

namespace dlc {
namespace {

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t three = 0;
    for (size_t i = 0; i < 3; ++i)
      three = three << 8 |
              (at + i < bytes.size() ? uint8_t(bytes[at + i]) : uint8_t(0));
    for (size_t i = 0; i < 4; ++i)
      text += at + i > bytes.size() ? '=' : kDigits[three >> (18 - 6 * i) & 63];
  }
  return text;
}

} // namespace

std::string encodePng(const Picture &picture) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = uint32_t(picture.width);
  image.height = uint32_t(picture.height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string file(size, '\0');
  if (!png_image_write_to_memory(&image, file.data(), &size, 0,
                                 picture.rgb.data(), 0, nullptr))
    throw std::bad_alloc();
  file.resize(size);
  return file;
}

std::string addressOf(const Picture &picture) {
  return "data:image/png;base64," + base64(encodePng(picture));
}

} // namespace dlc
