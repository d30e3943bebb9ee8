// SPDX-License-Identifier: Apache-2.0
// runtime/data/augment: pixels as Pillow's, parameters as torchvision draws
// them.
#include "runtime/data/augment/Augment.h"
#include "runtime/data/augment/Colour.h"
#include "runtime/data/augment/Resize.h"
#include "test/unit/AugmentReference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

using namespace dlc;

namespace {

Picture picture(int height, int width) {
  Picture image{height, width, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c)
        image.rgb.push_back(
            uint8_t(x * 37 + y * 91 + c * 53 + x * y * (7 + c)));
  return image;
}

uint64_t hashOf(const Picture &image) {
  EXPECT_EQ(image.rgb.size(), size_t(image.height) * size_t(image.width) * 3);
  uint64_t hash = 0xCBF29CE484222325;
  for (uint8_t byte : image.rgb)
    hash = (hash ^ byte) * 0x100000001B3;
  return hash;
}

void change(Picture &image, int kind, double amount) {
  switch (kind) {
  case 0:
    return adjustBrightness(image, float(amount));
  case 1:
    return adjustContrast(image, float(amount));
  case 2:
    return adjustSaturation(image, float(amount));
  case 3:
    return adjustHue(image, amount);
  case 4:
    return flipHorizontally(image);
  case 5:
    return flipVertically(image);
  default:
    image = crop(image, middleBox(image.height, image.width, 32, 32));
  }
}

TEST(Augment, ResizesAsPillow) {
  const Picture image = picture(47, 61);
  for (const ResizeReference &r : kResizes)
    EXPECT_EQ(
        hashOf(resizedCrop(image, {r.top, r.left, r.height, r.width},
                           r.toHeight, r.toWidth, PictureFilter(r.filter))),
        r.hash)
        << "filter " << r.filter << ", " << r.height << " x " << r.width
        << " to " << r.toHeight << " x " << r.toWidth;
}

TEST(Augment, ColoursFlipsAndCropsAsPillow) {
  for (const ColourReference &r : kColours) {
    Picture image = picture(47, 61);
    change(image, r.kind, r.amount);
    EXPECT_EQ(hashOf(image), r.hash) << "kind " << r.kind << " " << r.amount;
  }
}

TEST(Augment, PaddedMovesInABlackFrame) {
  Augmentation how;
  how.crop = CropKind::Padded;
  how.cropPadding = 2;
  const Picture whole = picture(9, 7);
  std::set<uint64_t> found;
  for (int sample = 0; sample < 500; ++sample) {
    Picture image = whole;
    augment(image, how, 1, 0, sample);
    ASSERT_EQ(image.rgb.size(), whole.rgb.size());
    found.insert(hashOf(image));
  }
  EXPECT_EQ(found.size(), 25u); // each place of 5 x 5
  EXPECT_TRUE(found.count(hashOf(whole)));
}

TEST(Augment, DrawsDependOnSeedEpochSampleAndStreamOnly) {
  const auto first = [](uint64_t seed, int64_t epoch, int64_t sample,
                        uint32_t stream) {
    return SampleDraws(seed, epoch, sample, stream).uniform(0, 1);
  };
  const double one = first(1, 2, 3, 4);
  EXPECT_EQ(one, first(1, 2, 3, 4));
  EXPECT_NE(one, first(2, 2, 3, 4));
  EXPECT_NE(one, first(1, 3, 3, 4));
  EXPECT_NE(one, first(1, 2, 4, 4));
  EXPECT_NE(one, first(1, 2, 3, 5));
}

TEST(Augment, CropsHaveTheRangesOfAreaAndRatio) {
  const Picture image{300, 400, {}};
  double areas = 0, logs = 0, tops = 0;
  constexpr int kCount = 4000;
  for (int sample = 0; sample < kCount; ++sample) {
    SampleDraws draws(7, 0, sample, 0);
    const PictureBox box = drawCrop({image.height, image.width}, {0.08, 0.5},
                                    {0.75, 4.0 / 3}, draws);
    const double area = double(box.height) * box.width / (300 * 400);
    const double ratio = double(box.width) / box.height;
    ASSERT_TRUE(area > 0.075 && area < 0.506) << area;
    ASSERT_TRUE(ratio > 0.73 && ratio < 1.37) << ratio;
    ASSERT_TRUE(box.top >= 0 && box.top + box.height <= 300);
    ASSERT_TRUE(box.left >= 0 && box.left + box.width <= 400);
    areas += area;
    logs += std::log(ratio);
    tops += box.height == 300 ? 0.5 : double(box.top) / (300 - box.height);
  }
  EXPECT_NEAR(areas / kCount, 0.29, 0.01);
  EXPECT_NEAR(logs / kCount, 0, 0.015);
  EXPECT_NEAR(tops / kCount, 0.5, 0.02);
}

TEST(Augment, CropsOfNarrowImagesAreInTheMiddle) {
  SampleDraws draws(7, 0, 0, 0);
  const PictureSize wide{10, 1000}, high{1000, 10};
  EXPECT_EQ(drawCrop(wide, {0.9, 1}, {0.75, 4.0 / 3}, draws),
            (PictureBox{0, 493, 10, 13}));
  EXPECT_EQ(drawCrop(high, {0.9, 1}, {0.75, 4.0 / 3}, draws),
            (PictureBox{493, 0, 13, 10}));
}

TEST(Augment, JitterHasItsRangesInAnyOrder) {
  std::map<std::array<int, 4>, int> orders;
  for (int sample = 0; sample < 2400; ++sample) {
    SampleDraws draws(7, 1, sample, 0);
    const Jitter jitter = drawJitter({0.4, 1.5, 0, 0.1}, draws);
    ASSERT_TRUE(jitter.amount[0] >= 0.6 && jitter.amount[0] <= 1.4);
    ASSERT_TRUE(jitter.amount[1] >= 0 && jitter.amount[1] <= 2.5);
    ASSERT_EQ(jitter.amount[2], 1);
    ASSERT_LE(std::abs(jitter.amount[3]), 0.1);
    ++orders[jitter.order];
  }
  EXPECT_EQ(orders.size(), 24U);
  for (const auto &[order, count] : orders)
    EXPECT_NEAR(count, 100, 45);
}

TEST(Augment, JitterIsDoneInItsOrder) {
  Picture image = picture(9, 8), same = image;
  applyJitter(image, {{3, 2, 1, 0}, {0.5, 2, 0.7, 0.2}});
  adjustHue(same, 0.2);
  adjustSaturation(same, 0.7F);
  adjustContrast(same, 2);
  adjustBrightness(same, 0.5F);
  EXPECT_EQ(image.rgb, same.rgb);
}

} // namespace
