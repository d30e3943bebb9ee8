// SPDX-License-Identifier: Apache-2.0
// Geometry shared by convolutions and poolings over one to three spatial
// dimensions, stored as three, depth first; missing dimensions are leading ones
// of size 1.
#pragma once

#include "runtime/base/numbers/Sliding.h"
#include "runtime/device/commands/Checks.h"

#include <array>

namespace dlc {

constexpr size_t kSpatial = 3;
using Spatial = std::array<int64_t, kSpatial>; // depth, height, width

// A batch of images [N,C,...], or [N,...,C] when channels come last.
struct Image {
  int64_t n, c;
  Spatial size;
  size_t dims; // rank of the operand; spatial dimensions are the last
  bool channelsLast;

  int64_t pixels() const { return size[0] * size[1] * size[2]; }
  int64_t index(int64_t in, int64_t ic, const Spatial &at) const {
    const int64_t pixel = (at[0] * size[1] + at[1]) * size[2] + at[2];
    return channelsLast ? (in * pixels() + pixel) * c + ic
                        : (in * c + ic) * pixels() + pixel;
  }
  // Sizes of the last `count` dimensions.
  Shape sizes(size_t count) const {
    return Shape(size.end() - static_cast<ptrdiff_t>(count), size.end());
  }
  Shape sizes() const { return sizes(dims); }
};

// The window along each dimension.
struct Window {
  std::array<Sliding, kSpatial> along{Sliding{1}, Sliding{1}, Sliding{1}};

  int64_t taps() const {
    return along[0].kernel * along[1].kernel * along[2].kernel;
  }
  // One member of Sliding for each of the last `count` dimensions.
  Shape list(size_t count, int64_t Sliding::*number) const {
    Shape numbers;
    for (size_t d = kSpatial - count; d < kSpatial; ++d)
      numbers.push_back(along[d].*number);
    return numbers;
  }
};

// Reads `layout` and the shape; rank must be 3 to 5.
Result<Image> imageOf(const CommandSpec &spec, const Operand &operand,
                      std::string_view name);

// Reads strides, pads and dilations for a kernel of these sizes (one to three
// dimensions), and checks their ranges.
Result<Window> windowOf(const CommandSpec &spec, const Shape &kernel);

} // namespace dlc
