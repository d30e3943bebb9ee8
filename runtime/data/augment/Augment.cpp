// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/augment/Augment.h"

#include "runtime/base/numbers/Philox.h"
#include "runtime/data/augment/Colour.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace dlc {
namespace {

// Separates this stream from those of dropout and of the sample order, which
// use the same seed.
constexpr uint64_t kAugmentKey = 0x61756D656E740000;

int roundedToEven(double value) { return int(std::nearbyint(value)); }

PictureBox cropInMiddle(PictureSize image, DrawRange ratio) {
  const double of = double(image.width) / image.height;
  PictureBox box{0, 0, image.height, image.width};
  if (of < ratio.low)
    box.height = std::max(1, roundedToEven(image.width / ratio.low));
  else if (of > ratio.high)
    box.width = std::max(1, roundedToEven(image.height * ratio.high));
  box.top = (image.height - box.height) / 2;
  box.left = (image.width - box.width) / 2;
  return box;
}

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

SampleDraws::SampleDraws(uint64_t seed, int64_t epoch, int64_t sample,
                         uint32_t stream)
    : key_(seed ^ kAugmentKey), low_(uint64_t(sample)),
      high_(uint64_t(epoch) << 32 | uint64_t(stream & 0xFF) << 24) {}

uint64_t SampleDraws::next() {
  if (left_ == 0) {
    const PhiloxBlock block = philox(key_, low_, high_++);
    ready_ = {block[0] | uint64_t(block[1]) << 32, block[2] | uint64_t(block[3])
                                                                  << 32};
    left_ = 2;
  }
  return ready_[size_t(2 - left_--)];
}

double SampleDraws::uniform(double low, double high) {
  return low + (high - low) * (double(next() >> 11) * 0x1p-53);
}

int SampleDraws::below(int count) {
  return int(((next() >> 32) * uint64_t(count)) >> 32);
}

PictureBox drawCrop(PictureSize image, DrawRange area, DrawRange ratio,
                    SampleDraws &draws) {
  const double whole = double(image.height) * image.width;
  for (int tries = 0; tries < 10; ++tries) {
    const double target = whole * draws.uniform(area.low, area.high);
    const double aspect =
        std::exp(draws.uniform(std::log(ratio.low), std::log(ratio.high)));
    const int width = roundedToEven(std::sqrt(target * aspect));
    const int height = roundedToEven(std::sqrt(target / aspect));
    if (width < 1 || width > image.width || height < 1 || height > image.height)
      continue;
    const int top = draws.below(image.height - height + 1);
    const int left = draws.below(image.width - width + 1);
    return {top, left, height, width};
  }
  return cropInMiddle(image, ratio);
}

Jitter drawJitter(const JitterRanges &ranges, SampleDraws &draws) {
  Jitter jitter;
  for (int i = 3; i > 0; --i)
    std::swap(jitter.order[size_t(i)],
              jitter.order[size_t(draws.below(i + 1))]);
  const double by[3] = {ranges.brightness, ranges.contrast, ranges.saturation};
  for (size_t i = 0; i < 3; ++i)
    jitter.amount[i] = draws.uniform(std::max(0.0, 1 - by[i]), 1 + by[i]);
  jitter.amount[3] = draws.uniform(-ranges.hue, ranges.hue);
  return jitter;
}

void applyJitter(Picture &image, const Jitter &jitter) {
  for (int which : jitter.order) {
    const double amount = jitter.amount[size_t(which)];
    if (amount == (which == 3 ? 0 : 1))
      continue; // conversion to hue and back is inexact and slow
    if (which == 3) {
      adjustHue(image, amount);
      continue;
    }
    constexpr decltype(&adjustBrightness) kAdjust[] = {
        adjustBrightness, adjustContrast, adjustSaturation};
    kAdjust[which](image, float(amount));
  }
}

} // namespace dlc
