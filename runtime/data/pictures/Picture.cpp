// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/pictures/Picture.h"

#include "runtime/data/pictures/Codecs.h"

namespace dlc {
std::string_view kindOfPicture(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char *>(file.data()),
                              file.size());
  if (text.starts_with("\xff\xd8\xff"))
    return "JPEG";
  if (text.starts_with("\x89PNG\r\n\x1a\n"))
    return "PNG";
  if (text.size() >= 12 && text.starts_with("RIFF") &&
      text.substr(8, 4) == "WEBP")
    return "WebP";
  return "";
}

Status checkPixels(int64_t width, int64_t height) {
  if (width <= 0 || height <= 0)
    return failed("it has no pixels: {} x {}", width, height);
  if (width > kMaxPixels / height)
    return failed("it claims {} x {} pixels, expected at most {}", width,
                  height, kMaxPixels);
  return {};
}

Result<PictureSize> sizeOfPicture(std::span<const std::byte> file) {
  const auto kind = kindOfPicture(file);
  if (kind == "JPEG") {
    DLC_ASSIGN(const JpegHeader header, readJpegHeader(file));
    return header.size;
  }
  if (kind == "PNG") {
    DLC_ASSIGN(const PictureSize size, sizeOfPng(file));
    return turned(size, orientationOfPng(file));
  }
  if (kind == "WebP") {
    DLC_ASSIGN(const PictureSize size, sizeOfWebp(file));
    return turned(size, orientationOfWebp(file));
  }
  return failed("is not a picture, expected JPEG, PNG or WebP");
}

Result<Picture> decodePicture(std::span<const std::byte> file,
                              PictureSize least) {
  const auto kind = kindOfPicture(file);
  if (kind == "JPEG")
    return decodeJpeg(file, least);
  if (kind == "PNG") {
    const int orientation = orientationOfPng(file);
    DLC_ASSIGN(Picture picture, decodePng(file, turned(least, orientation)));
    return upright(std::move(picture), orientation);
  }
  if (kind == "WebP") {
    const int orientation = orientationOfWebp(file);
    DLC_ASSIGN(Picture picture, decodeWebp(file, turned(least, orientation)));
    return upright(std::move(picture), orientation);
  }
  return failed("is not a picture, expected JPEG, PNG or WebP");
}

} // namespace dlc
