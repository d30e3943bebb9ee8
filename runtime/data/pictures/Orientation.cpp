// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/pictures/Codecs.h"

#include <cstring>

namespace dlc {
namespace {

// Reads numbers of a TIFF block in its byte order; 0 beyond its end.
class TiffNumbers {
public:
  explicit TiffNumbers(std::span<const uint8_t> block) : block_(block) {}

  bool isTiff() {
    if (block_.size() < 8)
      return false;
    big_ = block_[0] == 'M';
    return (block_[0] == 'I' || big_) && block_[0] == block_[1] && u16(2) == 42;
  }
  uint32_t u16(size_t at) const {
    if (at > block_.size() || block_.size() - at < 2)
      return 0;
    return big_ ? block_[at] << 8 | block_[at + 1]
                : block_[at + 1] << 8 | block_[at];
  }
  uint32_t u32(size_t at) const {
    return big_ ? u16(at) << 16 | u16(at + 2) : u16(at + 2) << 16 | u16(at);
  }

private:
  std::span<const uint8_t> block_;
  bool big_ = false;
};

// Finds the content of the first chunk with a name: chunks have a four-letter
// name, a four-byte size, the content, and `tail` bytes.
struct Chunks {
  bool isBigEndian, sizeIsFirst;
  size_t begin, tail, alignment;
};

std::span<const uint8_t> chunkOf(std::span<const std::byte> file,
                                 const Chunks &form, const char *name) {
  const std::span bytes(reinterpret_cast<const uint8_t *>(file.data()),
                        file.size());
  for (size_t at = form.begin; at <= bytes.size() && bytes.size() - at >= 8;) {
    const uint8_t *number = bytes.data() + at + (form.sizeIsFirst ? 0 : 4);
    size_t size = 0;
    for (size_t i = 0; i < 4; ++i)
      size |= size_t(number[i]) << 8 * (form.isBigEndian ? 3 - i : i);
    if (size > bytes.size() - at - 8)
      break;
    if (!std::memcmp(bytes.data() + at + (form.sizeIsFirst ? 4 : 0), name, 4))
      return bytes.subspan(at + 8, size);
    const size_t end = size + form.tail;
    at += 8 + (end + form.alignment - 1) / form.alignment * form.alignment;
  }
  return {};
}

} // namespace

int orientationOfPng(std::span<const std::byte> file) {
  return exifOrientation(chunkOf(file, {true, true, 8, 4, 1}, "eXIf"));
}

int orientationOfWebp(std::span<const std::byte> file) {
  return exifOrientation(chunkOf(file, {false, false, 12, 0, 2}, "EXIF"));
}

PictureSize turned(PictureSize size, int orientation) {
  return orientation > 4 ? PictureSize{size.width, size.height} : size;
}

int exifOrientation(std::span<const uint8_t> block) {
  constexpr size_t kHead = 6; // "Exif", 0, 0
  constexpr uint32_t kOrientation = 0x0112;
  if (block.size() >= kHead && !std::memcmp(block.data(), "Exif\0\0", kHead))
    block = block.subspan(kHead);
  TiffNumbers tiff(block);
  if (!tiff.isTiff())
    return 1;
  const size_t entries = tiff.u32(4);
  for (size_t i = 0, count = tiff.u16(entries); i < count; ++i) {
    const size_t entry = entries + 2 + i * 12;
    if (tiff.u16(entry) != kOrientation)
      continue;
    const uint32_t value = tiff.u16(entry + 8);
    return value >= 1 && value <= 8 ? int(value) : 1;
  }
  return 1;
}

Picture upright(Picture from, int orientation) {
  if (orientation == 1)
    return from;
  const bool turns = orientation > 4; // rows become columns
  Picture to{
      turns ? from.width : from.height, turns ? from.height : from.width, {}};
  to.rgb.resize(from.rgb.size());
  constexpr std::string_view kFlipsX = "2378", kFlipsY = "3467";
  const char digit = char('0' + orientation);
  const bool flipsX = kFlipsX.find(digit) != kFlipsX.npos;
  const bool flipsY = kFlipsY.find(digit) != kFlipsY.npos;
  uint8_t *out = to.rgb.data();
  for (int y = 0; y < to.height; ++y)
    for (int x = 0; x < to.width; ++x, out += 3) {
      int fromX = turns ? y : x, fromY = turns ? x : y;
      if (flipsX)
        fromX = from.width - 1 - fromX;
      if (flipsY)
        fromY = from.height - 1 - fromY;
      std::memcpy(out, from.row(fromY) + size_t(fromX) * 3, 3);
    }
  return to;
}

} // namespace dlc
