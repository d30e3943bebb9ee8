// SPDX-License-Identifier: Apache-2.0
// The libraries' decoders, one file each; decodePicture() chooses.
#pragma once

#include "runtime/data/pictures/Picture.h"

namespace dlc {

// Code::Failed for what has no pixels or more than kMaxPixels.
Status checkPixels(int64_t width, int64_t height);

// A JPEG before it is turned; `orientation` is its EXIF's, 1 to 8.
struct JpegHeader {
  PictureSize size;
  int orientation = 1;
};
Result<JpegHeader> readJpegHeader(std::span<const std::byte> file);
Result<Picture> decodeJpeg(std::span<const std::byte> file, PictureSize least);
Result<PictureSize> sizeOfPng(std::span<const std::byte> file);
Result<Picture> decodePng(std::span<const std::byte> file, PictureSize least);
Result<PictureSize> sizeOfWebp(std::span<const std::byte> file);
Result<Picture> decodeWebp(std::span<const std::byte> file, PictureSize least);

// The orientation in an EXIF block, with or without the head that it has in a
// JPEG's APP1 marker; 1 if there is none that makes sense.
int exifOrientation(std::span<const uint8_t> block);

// The same of a PNG's chunk eXIf and a WebP's chunk EXIF.
int orientationOfPng(std::span<const std::byte> file);
int orientationOfWebp(std::span<const std::byte> file);

// The size as it is upright; its own inverse.
PictureSize turned(PictureSize size, int orientation);

// The picture as a camera's orientation, 1 to 8, says that it stands upright.
Picture upright(Picture picture, int orientation);

} // namespace dlc
