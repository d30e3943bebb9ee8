// Geometry that convolutions and poolings share.
#pragma once

#include "runtime/base/numbers/Sliding.h"
#include "runtime/device/commands/Checks.h"

namespace dlc {

// A batch of images [N,C,H,W], or [N,H,W,C] when nhwc.
struct Image {
  int64_t n, c, h, w;
  bool nhwc;

  int64_t index(int64_t in, int64_t ic, int64_t ih, int64_t iw) const {
    return nhwc ? ((in * h + ih) * w + iw) * c + ic
                : ((in * c + ic) * h + ih) * w + iw;
  }
};

// Sliding window; `top, left, bottom, right` is the padding.
struct Window {
  int64_t kh, kw, sh, sw, dh, dw, top, left, bottom, right;

  Sliding rows() const { return {kh, sh, top, bottom, dh}; }
  Sliding columns() const { return {kw, sw, left, right, dw}; }
};

// Reads `layout` and the shape; rank must be 4.
Result<Image> imageOf(const CommandSpec &spec, const Operand &operand,
                      std::string_view name);

// Reads strides, pads and dilations for a kernel of kh x kw and checks their
// ranges.
Result<Window> windowOf(const CommandSpec &spec, int64_t kh, int64_t kw);

} // namespace dlc
