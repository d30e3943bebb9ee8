// SPDX-License-Identifier: Apache-2.0
// runtime/base/numbers/Sliding: by hand, and against a walk over a padded line.
#include "runtime/base/numbers/Sliding.h"

#include <gtest/gtest.h>
#include <vector>

namespace dlc {
namespace {

TEST(Sliding, ByHand) {
  const Sliding conv{.kernel = 3, .stride = 2, .low = 1, .high = 0};
  EXPECT_EQ(conv.span(), 3);
  EXPECT_EQ(conv.outputs(28), 14);
  EXPECT_EQ(conv.at(0, 0), -1); // the padding
  EXPECT_EQ(conv.at(13, 2), 27);
  EXPECT_EQ(conv.counted(0, 28, false), 2);
  EXPECT_EQ(conv.counted(0, 28, true), 3);
  EXPECT_EQ(conv.reader(27, 2), 13);
  EXPECT_EQ(conv.reader(26, 2), -1); // between two outputs

  const Sliding wide{.kernel = 3, .dilation = 4};
  EXPECT_EQ(wide.span(), 9);
  EXPECT_EQ(wide.outputs(9), 1);
  EXPECT_EQ(wide.outputs(8), -1); // does not fit
  EXPECT_EQ(Sliding{.kernel = 1}.outputs(0), -1);
}

/// Windows of the places low to high around the line, each where it fits.
void walk(const Sliding &s, int64_t in) {
  std::vector<int64_t> starts;
  for (int64_t start = -s.low; start + s.span() <= in + s.high;
       start += s.stride)
    starts.push_back(start);
  ASSERT_EQ(s.outputs(in), starts.empty() ? -1 : (int64_t)starts.size());
  for (int64_t place = 0; place < in; ++place)
    for (int64_t tap = 0; tap < s.kernel; ++tap) {
      int64_t reader = -1;
      for (size_t o = 0; o < starts.size(); ++o)
        if (starts[o] + tap * s.dilation == place)
          reader = (int64_t)o;
      const int64_t found = s.reader(place, tap);
      EXPECT_EQ(found < (int64_t)starts.size() ? found : -1, reader);
    }
  for (size_t o = 0; o < starts.size(); ++o) {
    int64_t inside = 0, padded = 0;
    for (int64_t tap = 0; tap < s.kernel; ++tap) {
      const int64_t place = starts[o] + tap * s.dilation;
      EXPECT_EQ(s.at((int64_t)o, tap), place);
      inside += place >= 0 && place < in;
      padded += place >= -s.low && place < in + s.high;
    }
    EXPECT_EQ(s.counted((int64_t)o, in, false), inside);
    EXPECT_EQ(s.counted((int64_t)o, in, true), padded);
  }
}

TEST(Sliding, IsAWalk) {
  for (int64_t kernel : {1, 2, 3})
    for (int64_t stride : {1, 2, 3})
      for (int64_t low : {0, 1, 4})
        for (int64_t high : {0, 2})
          for (int64_t dilation : {1, 2})
            for (int64_t in : {0, 1, 5, 8})
              walk({kernel, stride, low, high, dilation}, in);
}

TEST(WindowSizes, AreForTheirDimensions) {
  const std::vector<int64_t> kernel = {3, 1, 2}, strides = {1, 2, 3},
                             pads = {0, 1, 2, 3, 4, 5}, ones = {1, 1, 1},
                             zero = {1, 0, 1}, two = {1, 1};
  const WindowSizes sizes{kernel, strides, pads, ones};
  EXPECT_TRUE(sizes.areFor(3));
  EXPECT_EQ(sizes.taps(), 6);
  EXPECT_EQ(sizes.along(1).low, 1);
  EXPECT_EQ(sizes.along(1).high, 4);
  EXPECT_EQ(sizes.along(2).stride, 3);
  EXPECT_FALSE(sizes.areFor(2));
  EXPECT_FALSE((WindowSizes{kernel, strides, pads, two}.areFor(3)));
  EXPECT_FALSE((WindowSizes{kernel, strides, ones, ones}.areFor(3)));
  EXPECT_FALSE((WindowSizes{zero, strides, pads, ones}.areFor(3)));
  EXPECT_FALSE((WindowSizes{kernel, zero, pads, ones}.areFor(3)));
}

TEST(ImageDims, AreWhereTheLayoutSays) {
  for (int64_t rank : {3, 4, 5}) {
    const ImageDims first(rank, "nchw"), last(rank, "nhwc");
    EXPECT_EQ(first.channel(), 1);
    EXPECT_EQ(first.spatial(), 2);
    EXPECT_EQ(last.channel(), rank - 1);
    EXPECT_EQ(last.spatial(), 1);
    EXPECT_EQ(last.count(), rank - 2);
    EXPECT_TRUE(ImageDims::areImages(rank));
  }
  EXPECT_FALSE(ImageDims::areImages(2));
  EXPECT_FALSE(ImageDims::areImages(6));
  EXPECT_TRUE(ImageDims::knows("nhwc"));
  EXPECT_FALSE(ImageDims::knows("nchv"));
}

} // namespace
} // namespace dlc
