// SPDX-License-Identifier: Apache-2.0
// The geometry of convolutions and poolings over one to three dimensions: where
// the spatial dimensions are in an image, and how a window moves along each.
// Used by the compiler and the runtime.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

namespace dlc {

/// A window of `kernel` taps that moves by `stride` over a dimension with
/// padding of `low` and `high` elements; taps are `dilation` apart. All members
/// except the padding are positive.
struct Sliding {
  int64_t kernel, stride = 1, low = 0, high = 0, dilation = 1;

  /// Elements from the first to the last tap, inclusive.
  constexpr int64_t span() const { return (kernel - 1) * dilation + 1; }
  /// Number of outputs for a dimension of `in` elements; -1 if it does not fit.
  constexpr int64_t outputs(int64_t in) const {
    const int64_t room = in + low + high - span();
    return room < 0 ? -1 : room / stride + 1;
  }
  /// Index of the element that a tap of an output reads; it is padding outside
  /// of [0, in).
  constexpr int64_t at(int64_t output, int64_t tap) const {
    return output * stride - low + tap * dilation;
  }
  /// The output whose tap reads the element at `place`; -1 if there is none.
  constexpr int64_t reader(int64_t place, int64_t tap) const {
    const int64_t from = place + low - tap * dilation;
    return from >= 0 && from % stride == 0 ? from / stride : -1;
  }
  /// Number of taps of an output that are inside of the dimension or, with
  /// `padding`, inside of it and its padding.
  constexpr int64_t counted(int64_t output, int64_t in, bool padding) const {
    int64_t n = 0;
    for (int64_t tap = 0; tap < kernel; ++tap) {
      const int64_t p = at(output, tap);
      n += p >= (padding ? -low : 0) && p < in + (padding ? high : 0);
    }
    return n;
  }
};

/// A window's sizes as ONNX, the dialect and plans list them, for one to three
/// dimensions; pads are [begin..., end...].
struct WindowSizes {
  std::span<const int64_t> kernel, strides, pads, dilations;

  /// Whether all sizes for `dims` dimensions are given, positive except pads.
  constexpr bool areFor(size_t dims) const {
    bool good = pads.size() == 2 * dims;
    for (const auto &sizes : {kernel, strides, dilations})
      good = good && sizes.size() == dims &&
             std::ranges::all_of(sizes, [](int64_t n) { return n > 0; });
    return good;
  }
  constexpr Sliding along(size_t d) const {
    return {kernel[d], strides[d], pads[d], pads[kernel.size() + d],
            dilations[d]};
  }
  /// Number of taps of the window.
  constexpr int64_t taps() const {
    int64_t n = 1;
    for (const int64_t k : kernel)
      n *= k;
    return n;
  }
};

/// The positions of an image's dimensions: [N, C, ...] in the layout "nchw",
/// [N, ..., C] in "nhwc", for any rank.
struct ImageDims {
  static constexpr int64_t kLeast = 3, kMost = 5; // ranks of images

  constexpr ImageDims(int64_t rank, std::string_view layout)
      : rank(rank), channelsLast(layout == "nhwc") {}
  static constexpr bool knows(std::string_view layout) {
    return layout == "nchw" || layout == "nhwc";
  }
  static constexpr bool areImages(int64_t rank) {
    return rank >= kLeast && rank <= kMost;
  }

  constexpr int64_t channel() const { return channelsLast ? rank - 1 : 1; }
  /// The first spatial dimension; spatial dimensions are adjacent.
  constexpr int64_t spatial() const { return channelsLast ? 1 : 2; }
  constexpr int64_t count() const { return rank - 2; }

  int64_t rank;
  bool channelsLast;
};

} // namespace dlc
