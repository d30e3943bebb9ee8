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

namespace {

struct Codec {
  std::string_view kind;
  decltype(&sizeOfPng) size;
  decltype(&orientationOfPng) orientation;
  decltype(&decodePng) decode;
};
constexpr Codec kCodecs[] = {
    {"JPEG", sizeOfJpeg, [](auto) { return 1; }, decodeJpeg},
    {"PNG", sizeOfPng, orientationOfPng, decodePng},
    {"WebP", sizeOfWebp, orientationOfWebp, decodeWebp}};

Result<const Codec *> codecOf(std::span<const std::byte> file) {
  const auto kind = kindOfPicture(file);
  for (const Codec &codec : kCodecs)
    if (kind == codec.kind)
      return &codec;
  return failed("is not a picture, expected JPEG, PNG or WebP");
}

} // namespace

Result<PictureSize> sizeOfPicture(std::span<const std::byte> file) {
  DLC_ASSIGN(const Codec *codec, codecOf(file));
  DLC_ASSIGN(const PictureSize size, codec->size(file));
  return turned(size, codec->orientation(file));
}

Result<Picture> decodePicture(std::span<const std::byte> file,
                              PictureSize least) {
  DLC_ASSIGN(const Codec *codec, codecOf(file));
  const int orientation = codec->orientation(file);
  DLC_ASSIGN(Picture picture, codec->decode(file, turned(least, orientation)));
  return upright(std::move(picture), orientation);
}

} // namespace dlc
