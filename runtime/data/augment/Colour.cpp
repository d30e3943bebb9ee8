// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/augment/Colour.h"

#include <algorithm>
#include <cmath>

namespace dlc {
namespace {

uint8_t blended(int plain, int value, float factor) {
  const float result = float(plain) + factor * float(value - plain);
  return uint8_t(std::clamp(result, 0.0F, 255.0F));
}

// Blends each pixel with plainOf(pixel).
template <class Plain>
void moveFrom(Picture &image, float factor, Plain plainOf) {
  for (size_t i = 0; i < image.rgb.size(); i += 3) {
    uint8_t *pixel = image.rgb.data() + i;
    const int plain = plainOf(pixel);
    for (int c = 0; c < 3; ++c)
      pixel[c] = blended(plain, pixel[c], factor);
  }
}

struct HueSaturation {
  uint8_t hue = 0, saturation = 0;
};

// Hue and saturation as bytes: 255 is the full circle or full saturation.
HueSaturation hueOf(const uint8_t *rgb, int most, int least) {
  if (most == least)
    return {};
  const auto range = float(most - least);
  const float red = float(most - rgb[0]) / range;
  const float green = float(most - rgb[1]) / range;
  const float blue = float(most - rgb[2]) / range;
  float sixths;
  if (rgb[0] == most)
    sixths = blue - green;
  else if (rgb[1] == most)
    sixths = float(2.0 + red - blue);
  else
    sixths = float(4.0 + green - red);
  const auto turn = float(std::fmod(sixths / 6.0 + 1.0, 1.0));
  return {uint8_t(std::clamp(int(turn * 255.0), 0, 255)),
          uint8_t(std::clamp(int(range / float(most) * 255.0), 0, 255))};
}

void setColour(uint8_t *rgb, HueSaturation colour, uint8_t value) {
  const double sixths = colour.hue * 6.0 / 255.0;
  const double whole = std::floor(sixths);
  const auto part = float(sixths - whole);
  const auto saturation = float(colour.saturation / 255.0);
  const auto faded = [&](double by) {
    return uint8_t(std::round(value * (1.0 - by)));
  };
  const uint8_t low = faded(saturation);
  const uint8_t falling = faded(double(saturation * part));
  const uint8_t rising = faded(saturation * (1.0 - part));
  const uint8_t of[6][3] = {{value, rising, low}, {falling, value, low},
                            {low, value, rising}, {low, falling, value},
                            {rising, low, value}, {value, low, falling}};
  std::copy_n(of[int(whole) % 6], 3, rgb);
}

} // namespace

int lumaOf(const uint8_t *rgb) {
  return (rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16;
}

void adjustBrightness(Picture &image, float factor) {
  moveFrom(image, factor, [](const uint8_t *) { return 0; });
}

void adjustContrast(Picture &image, float factor) {
  int64_t sum = 0;
  for (size_t i = 0; i < image.rgb.size(); i += 3)
    sum += lumaOf(image.rgb.data() + i);
  const auto pixels = double(image.rgb.size() / 3);
  const int mean = pixels == 0 ? 0 : int(double(sum) / pixels + 0.5);
  moveFrom(image, factor, [&](const uint8_t *) { return mean; });
}

void adjustSaturation(Picture &image, float factor) {
  moveFrom(image, factor, lumaOf);
}

void adjustHue(Picture &image, double turn) {
  const int steps = int(turn * 255);
  for (size_t i = 0; i < image.rgb.size(); i += 3) {
    uint8_t *rgb = image.rgb.data() + i;
    const uint8_t most = std::max({rgb[0], rgb[1], rgb[2]});
    const uint8_t least = std::min({rgb[0], rgb[1], rgb[2]});
    HueSaturation colour = hueOf(rgb, most, least);
    colour.hue = uint8_t(colour.hue + steps);
    if (colour.saturation == 0)
      std::fill_n(rgb, 3, most);
    else
      setColour(rgb, colour, most);
  }
}

} // namespace dlc
