// The geometry of convolutions and poolings along one of their dimensions, of
// which they have one to three. What the compiler infers, decomposes and tests
// by, and what the runtime computes by.
#pragma once

#include <cstdint>

namespace dlc {

/// A window of `kernel` taps that moves by `stride` over a dimension with `low`
/// and `high` elements of padding; taps are `dilation` apart. All but the
/// padding are positive.
struct Sliding {
  int64_t kernel, stride = 1, low = 0, high = 0, dilation = 1;

  /// Elements from the first tap to behind the last.
  constexpr int64_t span() const { return (kernel - 1) * dilation + 1; }
  /// Outputs along a dimension of `in` elements; -1 where it does not fit.
  constexpr int64_t outputs(int64_t in) const {
    const int64_t room = in + low + high - span();
    return room < 0 ? -1 : room / stride + 1;
  }
  /// The element that a tap of an output reads; outside of [0, in) it is
  /// padding.
  constexpr int64_t at(int64_t output, int64_t tap) const {
    return output * stride - low + tap * dilation;
  }
  /// The output whose tap reads a place; -1 where there is none.
  constexpr int64_t reader(int64_t place, int64_t tap) const {
    const int64_t from = place + low - tap * dilation;
    return from >= 0 && from % stride == 0 ? from / stride : -1;
  }
  /// Taps of an output inside of the dimension or, with `padding`, inside of it
  /// and its padding.
  constexpr int64_t counted(int64_t output, int64_t in, bool padding) const {
    int64_t n = 0;
    for (int64_t tap = 0; tap < kernel; ++tap) {
      const int64_t p = at(output, tap);
      n += p >= (padding ? -low : 0) && p < in + (padding ? high : 0);
    }
    return n;
  }
};

} // namespace dlc
