// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/augment/Warp.h"

#include <cmath>
#include <cstring>
#include <numbers>

namespace dlc {
namespace {

double radiansOf(double degrees) { return degrees * (std::numbers::pi / 180); }

// 16 bits below the point.
int64_t fixedOf(double value) {
  return int64_t(std::floor(value * 65536.0 + 0.5));
}

// As Python's round(value, 15).
double rounded15(double value) { return std::nearbyint(value * 1e15) / 1e15; }

// An affine matrix that does nothing at `x`, `y`.
std::array<double, 6> about(double x, double y, std::array<double, 6> m) {
  m[2] = m[0] * -x + m[1] * -y + m[2] + x;
  m[5] = m[3] * -x + m[4] * -y + m[5] + y;
  return m;
}

Picture turnedByQuarter(const Picture &from, bool clockwise) {
  Picture to{from.width, from.height, {}};
  to.rgb.resize(from.rgb.size());
  for (int y = 0; y < to.height; ++y)
    for (int x = 0; x < to.width; ++x) {
      const int fromX = clockwise ? y : from.width - 1 - y;
      const int fromY = clockwise ? from.height - 1 - x : x;
      std::memcpy(&to.rgb[(size_t(y) * size_t(to.width) + size_t(x)) * 3],
                  from.row(fromY) + size_t(fromX) * 3, 3);
    }
  return to;
}

} // namespace

void warp(Picture &image, const std::array<double, 6> &m) {
  Picture to{image.height, image.width, {}};
  to.rgb.resize(image.rgb.size());
  int64_t rowX = fixedOf(m[2] + m[0] * 0.5 + m[1] * 0.5);
  int64_t rowY = fixedOf(m[5] + m[3] * 0.5 + m[4] * 0.5);
  const int64_t alongX = fixedOf(m[0]), alongY = fixedOf(m[3]);
  uint8_t *out = to.rgb.data();
  for (int y = 0; y < to.height; ++y) {
    int64_t atX = rowX, atY = rowY;
    for (int x = 0; x < to.width; ++x, out += 3) {
      const int64_t inX = atX >> 16, inY = atY >> 16;
      if (inX >= 0 && inX < image.width && inY >= 0 && inY < image.height)
        std::memcpy(out, image.row(int(inY)) + size_t(inX) * 3, 3);
      atX += alongX, atY += alongY;
    }
    rowX += fixedOf(m[1]), rowY += fixedOf(m[4]);
  }
  image = std::move(to);
}

void shearX(Picture &image, double degrees) {
  warp(image, {1, std::tan(radiansOf(degrees)), 0, 0, 1, 0});
}

void shearY(Picture &image, double degrees) {
  // In the order of torchvision's sums, whose last bits count.
  const double sy = radiansOf(degrees);
  warp(image, {1, 0, 0, -std::sin(-sy) / std::cos(sy),
               std::cos(-sy) / std::cos(sy), 0});
}

void translate(Picture &image, int x, int y) {
  warp(image, {1, 0, double(-x), 0, 1, double(-y)});
}

void rotate(Picture &image, double degrees) {
  if (degrees == 0)
    return;
  if (std::abs(degrees) == 90 && image.width == image.height) {
    image = turnedByQuarter(image, degrees < 0);
    return;
  }
  const double angle = -radiansOf(std::fmod(degrees + 360, 360));
  const double c = rounded15(std::cos(angle)), s = rounded15(std::sin(angle));
  warp(image,
       about(image.width / 2.0, image.height / 2.0, {c, s, 0, -s, c, 0}));
}

} // namespace dlc
