// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/augment/Augment.h"

#include <algorithm>
#include <cstring>

namespace dlc {
namespace {

// Adds a black border.
Picture padded(const Picture &image, int by) {
  Picture result{image.height + 2 * by, image.width + 2 * by, {}};
  result.rgb.resize(size_t(result.height) * size_t(result.width) * 3);
  for (int y = 0; y < image.height; ++y)
    std::memcpy(result.rgb.data() +
                    (size_t(y + by) * size_t(result.width) + size_t(by)) * 3,
                image.row(y), size_t(image.width) * 3);
  return result;
}

Picture movedInFrame(const Picture &image, int by, SampleDraws draws) {
  const int top = draws.below(2 * by + 1), left = draws.below(2 * by + 1);
  return crop(padded(image, by), {top, left, image.height, image.width});
}

} // namespace

bool Augmentation::changes() const {
  return cropPct != 1 || crop != CropKind::Center || hflip > 0 || vflip > 0 ||
         jitter.brightness > 0 || jitter.contrast > 0 ||
         jitter.saturation > 0 || jitter.hue > 0;
}

PictureSize sizeToFit(PictureSize picture, PictureSize sample, double cropPct) {
  constexpr int64_t kMost = 1 << 30; // for a picture with a height of 1
  const auto part = [&](int side) {
    return std::max(side, int(std::min(side / cropPct, double(kMost))));
  };
  const int height = part(sample.height), width = part(sample.width);
  const int64_t byHeight = int64_t(picture.width) * height;
  const int64_t byWidth = int64_t(picture.height) * width;
  if (byWidth <= byHeight) // the height determines the scale
    return {height,
            std::max(width, int(std::min(byHeight / picture.height, kMost)))};
  return {std::max(height, int(std::min(byWidth / picture.width, kMost))),
          width};
}

Picture fitted(const Picture &image, PictureSize sample,
               const Augmentation &how) {
  const PictureSize all =
      sizeToFit({image.height, image.width}, sample, how.cropPct);
  return resizedPart(
      image, all.height, all.width,
      middleBox(all.height, all.width, sample.height, sample.width),
      how.filter);
}

void augment(Picture &image, const Augmentation &how, uint64_t seed,
             int64_t epoch, int64_t sample) {
  const auto draws = [&](DrawStream stream) {
    return SampleDraws(seed, epoch, sample, uint32_t(stream));
  };
  if (how.crop == CropKind::Padded)
    image = movedInFrame(image, how.cropPadding, draws(DrawStream::Crop));
  SampleDraws flips = draws(DrawStream::Flips);
  if (flips.uniform(0, 1) < how.hflip)
    flipHorizontally(image);
  if (flips.uniform(0, 1) < how.vflip)
    flipVertically(image);
  SampleDraws colours = draws(DrawStream::Jitter);
  applyJitter(image, drawJitter(how.jitter, colours));
}

} // namespace dlc
