// SPDX-License-Identifier: Apache-2.0
// Decodes JPEG, PNG and WebP to RGB. Files are untrusted.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/data/augment/Picture.h"

#include <span>
#include <string_view>

namespace dlc {

// Pictures with more pixels are rejected, since a small file can claim any
// size.
constexpr int64_t kMaxPixels = 90'000'000;

// "JPEG", "PNG" or "WebP" by the first bytes, regardless of the name; else "".
std::string_view kindOfPicture(std::span<const std::byte> file);

// The decoded size, from the header. Errors as for decodePicture.
Result<PictureSize> sizeOfPicture(std::span<const std::byte> file);

// Decodes to RGB, upright according to EXIF; alpha is dropped, grey and CMYK
// are converted. A JPEG may be reduced to 1/2, 1/4 or 1/8 while each side stays
// at least that of `least`, and a picture of more than kLargePixels by
// averaging squares while each side stays at least twice that; {0, 0}: not
// reduced. May wait for memory that other threads' decoders use (Bounds.h).
// Errors: not one of these formats, damaged, truncated, an animation, more than
// kMaxPixels, or limits of Bounds.h exceeded. Thread-safe.
Result<Picture> decodePicture(std::span<const std::byte> file,
                              PictureSize least);

} // namespace dlc
