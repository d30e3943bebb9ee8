// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/Mix.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dlc {
namespace {

double drawNormal(SampleDraws &draws) {
  const double radius = std::sqrt(-2 * std::log(1 - draws.uniform(0, 1)));
  return radius * std::cos(2 * std::numbers::pi * draws.uniform(0, 1));
}

// Logarithm of a Gamma(alpha) sample; alpha < 1 is reduced to alpha + 1
// (Marsaglia and Tsang 2000).
double drawLogGamma(double alpha, SampleDraws &draws) {
  const double by = alpha < 1 ? std::log(1 - draws.uniform(0, 1)) / alpha : 0.0;
  const double d = (alpha < 1 ? alpha + 1 : alpha) - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = drawNormal(draws);
    const double v = std::pow(1 + c * x, 3);
    const double u = 1 - draws.uniform(0, 1);
    if (v > 0 && std::log(u) < x * x / 2 + d - d * v + d * std::log(v))
      return by + std::log(d * v);
  }
}

PictureBox cutBox(PictureSize size, double share, SampleDraws &draws) {
  const int x = draws.below(size.width), y = draws.below(size.height);
  const double half = 0.5 * std::sqrt(1 - share);
  const int halfWidth = int(half * size.width);
  const int halfHeight = int(half * size.height);
  const int left = std::max(x - halfWidth, 0);
  const int top = std::max(y - halfHeight, 0);
  return {top, left, std::min(y + halfHeight, size.height) - top,
          std::min(x + halfWidth, size.width) - left};
}

void blend(const float *other, float *own, uint64_t count, double share) {
  const auto mine = float(share), theirs = float(1 - share);
  for (uint64_t i = 0; i < count; ++i)
    own[i] = other[i] * theirs + own[i] * mine;
}

} // namespace

double drawBeta(double alpha, SampleDraws &draws) {
  const double one = drawLogGamma(alpha, draws);
  const double other = drawLogGamma(alpha, draws);
  return 1 / (1 + std::exp(other - one));
}

MixDraw drawMix(const SampleOptions &options, PictureSize size,
                const TrainingPass &pass, int64_t first) {
  SampleDraws draws(pass.seed, pass.epoch, first, uint32_t(DrawStream::Mix));
  MixDraw draw;
  draw.isCut =
      options.cutmix > 0 && (options.mixup == 0 || draws.uniform(0, 1) < 0.5);
  draw.share = drawBeta(draw.isCut ? options.cutmix : options.mixup, draws);
  if (!draw.isCut)
    return draw;
  draw.box = cutBox(size, draw.share, draws);
  const double cut = double(draw.box.height) * draw.box.width;
  draw.share = 1 - cut / (double(size.height) * size.width);
  return draw;
}

MixDraw drawMix(const Dataset &dataset, const TrainingPass &pass,
                int64_t first) {
  PictureSize size;
  for (const Column &column : dataset.columns())
    if (const auto layout = column.layout())
      size = layout->size;
  return drawMix(dataset.options(), size, pass, first);
}

void mixSample(const Dataset &dataset, const MixDraw &draw,
               const std::vector<std::vector<std::byte>> &from, size_t other,
               std::vector<std::vector<std::byte>> &to, size_t at) {
  for (size_t i = 0; i < to.size(); ++i) {
    const Column &column = dataset.columns()[i];
    if (column.spec().isShared)
      continue;
    const uint64_t bytes = column.sampleBytes();
    const auto *theirs =
        reinterpret_cast<const float *>(from[i].data() + other * bytes);
    auto *own = reinterpret_cast<float *>(to[i].data() + at * bytes);
    if (draw.isCut && !column.spec().isLabel)
      column.layout()->eachRow(draw.box, [&](ptrdiff_t from, int count) {
        std::copy_n(theirs + from, count, own + from);
      });
    else
      blend(theirs, own, bytes / sizeof(float), draw.share);
  }
}

} // namespace dlc
