// SPDX-License-Identifier: Apache-2.0
// Pictures decoded from JPEG, PNG or WebP to RGB. Nothing in a file is trusted.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/data/augment/Picture.h"

#include <span>
#include <string_view>

namespace dlc {

// No picture of more pixels is decoded: a few bytes of a file can claim any.
constexpr int64_t kMaxPixels = 90'000'000;

// "JPEG", "PNG" or "WebP" by the first bytes, whatever the file is called; ""
// for anything else.
std::string_view kindOfPicture(std::span<const std::byte> file);

// The size when decoded, by the header alone. Errors as decodePicture's.
Result<PictureSize> sizeOfPicture(std::span<const std::byte> file);

// The picture as RGB, turned upright as its EXIF says; transparency is left
// out, grey and CMYK become RGB. A JPEG may be decoded smaller, by 1/2, 1/4 or
// 1/8, as long as neither side gets shorter than that of `least`, and a picture
// of more than kLargePixels by means of squares, as long as neither gets
// shorter than twice that; {0, 0}: as it is. Waits for memory of other threads'
// decoders (Bounds.h). Errors: no picture of these kinds, damaged or cut off,
// an animation, more than kMaxPixels, more memory or time than Bounds.h grants.
// Any thread.
Result<Picture> decodePicture(std::span<const std::byte> file,
                              PictureSize least);

} // namespace dlc
