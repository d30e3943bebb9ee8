// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/augment/Draws.h"

#include "runtime/base/numbers/Philox.h"
#include "runtime/data/augment/Colour.h"

#include <algorithm>
#include <cmath>
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

} // namespace

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
