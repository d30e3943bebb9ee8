// SPDX-License-Identifier: Apache-2.0
// The decoders, each in a file with its library; decodePicture() selects one.
#pragma once

#include "runtime/data/pictures/Picture.h"

namespace dlc {

// Code::Failed for no pixels, or more than kMaxPixels.
Status checkPixels(int64_t width, int64_t height);

// Upright, by EXIF; those of the others are before rotation.
Result<PictureSize> sizeOfJpeg(std::span<const std::byte> file);
Result<Picture> decodeJpeg(std::span<const std::byte> file, PictureSize least);
Result<PictureSize> sizeOfPng(std::span<const std::byte> file);
Result<Picture> decodePng(std::span<const std::byte> file, PictureSize least);
Result<PictureSize> sizeOfWebp(std::span<const std::byte> file);
Result<Picture> decodeWebp(std::span<const std::byte> file, PictureSize least);

// The orientation in an EXIF block, with or without the header of a JPEG's APP1
// marker; 1 if absent or invalid.
int exifOrientation(std::span<const uint8_t> block);

// The same for a PNG's chunk eXIf and a WebP's chunk EXIF.
int orientationOfPng(std::span<const std::byte> file);
int orientationOfWebp(std::span<const std::byte> file);

// The size after rotation to upright; its own inverse.
PictureSize turned(PictureSize size, int orientation);

// The picture rotated to upright according to the EXIF orientation, 1 to 8.
Picture upright(Picture picture, int orientation);

} // namespace dlc
