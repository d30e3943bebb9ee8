// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/augment/Resize.h"

#include <algorithm>
#include <cmath>

namespace dlc {
namespace {

constexpr int kWeightBits = 22;

double filterReach(PictureFilter filter) {
  return filter == PictureFilter::Bicubic ? 2 : 1;
}

double filterAt(PictureFilter filter, double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (filter == PictureFilter::Bilinear)
    return std::max(0.0, 1 - x);
  if (x < 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

// The source pixels of a result pixel, with fixed-point weights.
struct FixedTaps {
  int first = 0;
  std::vector<int32_t> weights;
};

FixedTaps fixedTaps(PictureFilter filter, int from, double scale, int index) {
  const double widening = std::max(scale, 1.0);
  const double reach = filterReach(filter) * widening;
  const double centre = (index + 0.5) * scale;
  const double narrowing = 1 / widening;
  FixedTaps taps{std::max(int(centre - reach + 0.5), 0), {}};
  const int last = std::min(int(centre + reach + 0.5), from);
  std::vector<double> weights;
  double sum = 0;
  for (int k = taps.first; k < last; ++k) {
    weights.push_back(filterAt(filter, (k - centre + 0.5) * narrowing));
    sum += weights.back();
  }
  for (double weight : weights) {
    const double fixed = weight / sum * (1 << kWeightBits);
    taps.weights.push_back(int32_t(fixed < 0 ? fixed - 0.5 : fixed + 0.5));
  }
  return taps;
}

// Taps of pixels [begin, begin + count) of a line resized from `from` to `to`.
std::vector<FixedTaps> someTaps(PictureFilter filter, int from, int to,
                                int begin, int count) {
  std::vector<FixedTaps> result;
  for (int i = begin; i < begin + count; ++i)
    result.push_back(fixedTaps(filter, from, double(from) / to, i));
  return result;
}

uint8_t fromFixed(int32_t sum) {
  return uint8_t(std::clamp(sum >> kWeightBits, 0, 255));
}

constexpr int32_t kFixedHalf = 1 << (kWeightBits - 1);

Picture scaledAcross(const Picture &image, const PictureBox &box,
                     const std::vector<FixedTaps> &taps) {
  Picture result{box.height, int(taps.size()), {}};
  result.rgb.resize(size_t(box.height) * taps.size() * 3);
  uint8_t *out = result.rgb.data();
  for (int y = 0; y < box.height; ++y)
    for (const FixedTaps &tap : taps) {
      const uint8_t *in =
          image.row(box.top + y) + size_t(box.left + tap.first) * 3;
      int32_t red = kFixedHalf, green = kFixedHalf, blue = kFixedHalf;
      for (int32_t weight : tap.weights) {
        red += weight * in[0];
        green += weight * in[1];
        blue += weight * in[2];
        in += 3;
      }
      *out++ = fromFixed(red);
      *out++ = fromFixed(green);
      *out++ = fromFixed(blue);
    }
  return result;
}

// Vertical pass. `image` starts at row `first` of the image that taps refer to.
Picture scaledDown(const Picture &image, int first,
                   const std::vector<FixedTaps> &taps) {
  Picture result{int(taps.size()), image.width, {}};
  const size_t stride = size_t(image.width) * 3;
  result.rgb.resize(taps.size() * stride);
  uint8_t *out = result.rgb.data();
  std::vector<int32_t> sums(stride);
  for (const FixedTaps &tap : taps) {
    std::ranges::fill(sums, kFixedHalf);
    const uint8_t *in = image.row(tap.first - first);
    for (int32_t weight : tap.weights) {
      for (size_t i = 0; i < stride; ++i)
        sums[i] += weight * in[i];
      in += stride;
    }
    out = std::ranges::transform(sums, out, fromFixed).out;
  }
  return result;
}

// The source pixel at each result pixel's centre. Centres are accumulated, as
// the last bits decide which pixel a centre on an edge belongs to.
std::vector<int> nearestPixels(int from, int to, int begin, int count) {
  const double step = double(from) / to;
  std::vector<int> result;
  double at = step * 0.5;
  for (int i = 0; i < begin + count; ++i, at += step)
    if (i >= begin)
      result.push_back(std::min(int(at), from - 1));
  return result;
}

Picture nearestScaled(const Picture &image, const PictureBox &box, int height,
                      int width, const PictureBox &part) {
  Picture result{part.height, part.width, {}};
  result.rgb.reserve(size_t(part.height) * size_t(part.width) * 3);
  const auto columns = nearestPixels(box.width, width, part.left, part.width);
  for (int y : nearestPixels(box.height, height, part.top, part.height))
    for (int x : columns) {
      const uint8_t *in = image.row(box.top + y) + size_t(box.left + x) * 3;
      result.rgb.insert(result.rgb.end(), in, in + 3);
    }
  return result;
}

// The rectangle `part` of `box` resized to `height` x `width`.
Picture scaledPart(const Picture &image, const PictureBox &box, int height,
                   int width, const PictureBox &part, PictureFilter filter) {
  if (box.height == height && box.width == width)
    return crop(image, {box.top + part.top, box.left + part.left, part.height,
                        part.width});
  if (filter == PictureFilter::Nearest)
    return nearestScaled(image, box, height, width, part);
  const auto across = someTaps(filter, box.width, width, part.left, part.width);
  const auto down = someTaps(filter, box.height, height, part.top, part.height);
  const int first = down.front().first;
  const int last = down.back().first + int(down.back().weights.size());
  const PictureBox rows{box.top + first, box.left, last - first, box.width};
  return scaledDown(scaledAcross(image, rows, across), first, down);
}

} // namespace

Picture resizedCrop(const Picture &image, const PictureBox &box, int height,
                    int width, PictureFilter filter) {
  return scaledPart(image, box, height, width, {0, 0, height, width}, filter);
}

Picture resizedPart(const Picture &image, int height, int width,
                    const PictureBox &part, PictureFilter filter) {
  return scaledPart(image, {0, 0, image.height, image.width}, height, width,
                    part, filter);
}

PictureBox middleBox(int fromHeight, int fromWidth, int height, int width) {
  // Rounds halves to even, as in Python.
  const auto half = [](int n) { return int(std::nearbyint(n / 2.0)); };
  return {half(fromHeight - height), half(fromWidth - width), height, width};
}

Picture crop(const Picture &image, const PictureBox &box) {
  Picture result{box.height, box.width, {}};
  result.rgb.reserve(size_t(box.height) * size_t(box.width) * 3);
  for (int y = 0; y < box.height; ++y) {
    const uint8_t *in = image.row(box.top + y) + size_t(box.left) * 3;
    result.rgb.insert(result.rgb.end(), in, in + size_t(box.width) * 3);
  }
  return result;
}

void flipHorizontally(Picture &image) {
  const size_t stride = size_t(image.width) * 3;
  for (int y = 0; y < image.height; ++y) {
    uint8_t *row = image.rgb.data() + size_t(y) * stride;
    std::reverse(row, row + stride);
    for (size_t x = 0; x < stride; x += 3)
      std::swap(row[x], row[x + 2]);
  }
}

void flipVertically(Picture &image) {
  const auto stride = ptrdiff_t(image.width) * 3;
  for (int y = 0; y < image.height / 2; ++y)
    std::swap_ranges(image.rgb.begin() + y * stride,
                     image.rgb.begin() + (y + 1) * stride,
                     image.rgb.begin() + (image.height - 1 - y) * stride);
}

} // namespace dlc
