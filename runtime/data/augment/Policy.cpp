// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/augment/Policy.h"

#include "runtime/data/augment/Colour.h"
#include "runtime/data/augment/Warp.h"

#include <cmath>
#include <numbers>

namespace dlc {
namespace {

constexpr int kBins = 31; // strengths
constexpr int kChanges = int(PictureChange::Equalize) + 1;

// The `index`-th of kBins floats from `low` to `high`, as torch.linspace.
double strength(double low, double high, int index) {
  const auto from = float(low), to = float(high);
  const float step = (to - from) / float(kBins - 1);
  return index < kBins / 2 ? std::fma(step, float(index), from)
                           : std::fma(-step, float(kBins - 1 - index), to);
}

// How far a policy goes: the amounts of the strongest changes.
struct Reach {
  double shear, translateX, translateY, rotate, colour;
  int bits; // that posterize takes away
};

Reach reachOf(Policy::Kind kind, PictureSize image) {
  if (kind == Policy::Kind::Trivial)
    return {0.99, 32, 32, 135, 0.99, 6};
  return {
      0.3, 150.0 / 331.0 * image.width, 150.0 / 331.0 * image.height, 30, 0.9,
      4};
}

bool hasSign(PictureChange change) {
  return change >= PictureChange::ShearX && change <= PictureChange::Sharpness;
}

double degreesOf(double tangent) {
  return std::atan(tangent) * (180 / std::numbers::pi);
}

} // namespace

double amountOf(Policy::Kind kind, PictureChange change, int index,
                PictureSize size) {
  const Reach reach = reachOf(kind, size);
  switch (change) {
  case PictureChange::ShearX:
  case PictureChange::ShearY:
    return strength(0, reach.shear, index);
  case PictureChange::TranslateX:
    return strength(0, reach.translateX, index);
  case PictureChange::TranslateY:
    return strength(0, reach.translateY, index);
  case PictureChange::Rotate:
    return strength(0, reach.rotate, index);
  case PictureChange::Brightness:
  case PictureChange::Color:
  case PictureChange::Contrast:
  case PictureChange::Sharpness:
    return strength(0, reach.colour, index);
  case PictureChange::Posterize:
    return 8 - std::nearbyint(index / ((kBins - 1) / double(reach.bits)));
  case PictureChange::Solarize:
    return strength(255, 0, index);
  default:
    return 0;
  }
}

void applyChange(Picture &image, PictureChange change, double amount) {
  const auto factor = float(1 + amount);
  switch (change) {
  case PictureChange::Identity:
    return;
  case PictureChange::ShearX:
    return shearX(image, degreesOf(amount));
  case PictureChange::ShearY:
    return shearY(image, degreesOf(amount));
  case PictureChange::TranslateX:
    return translate(image, int(amount), 0);
  case PictureChange::TranslateY:
    return translate(image, 0, int(amount));
  case PictureChange::Rotate:
    return rotate(image, amount);
  case PictureChange::Brightness:
    return adjustBrightness(image, factor);
  case PictureChange::Color:
    return adjustSaturation(image, factor);
  case PictureChange::Contrast:
    return adjustContrast(image, factor);
  case PictureChange::Sharpness:
    return adjustSharpness(image, factor);
  case PictureChange::Posterize:
    return posterize(image, int(amount));
  case PictureChange::Solarize:
    return solarize(image, amount);
  case PictureChange::AutoContrast:
    return stretchContrast(image);
  case PictureChange::Equalize:
    return equalize(image);
  }
}

void applyPolicy(Picture &image, const Policy &policy, SampleDraws &draws) {
  if (policy.kind == Policy::Kind::None)
    return;
  const bool isTrivial = policy.kind == Policy::Kind::Trivial;
  for (int i = 0; i < (isTrivial ? 1 : policy.ops); ++i) {
    const auto change = PictureChange(draws.below(kChanges));
    const int index = isTrivial ? draws.below(kBins) : policy.magnitude;
    const double amount =
        amountOf(policy.kind, change, index, {image.height, image.width});
    const bool negative = hasSign(change) && draws.below(2) == 1;
    applyChange(image, change, negative ? -amount : amount);
  }
}

} // namespace dlc
