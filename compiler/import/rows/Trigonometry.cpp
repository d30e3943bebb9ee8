// SPDX-License-Identifier: Apache-2.0
// Trigonometric and hyperbolic functions, composed of sin, cos, atan, exp, log
// and tanh in f32 or wider, accurate near 0. Fourier transforms as products
// with cosine tables, computed where they are used, and causal convolution.
#include "compiler/import/rows/Build.h"
#include "onnx-ml.pb.h"
#include <cmath>

using namespace mlir;

namespace dlc::import {
namespace trigonometry {
namespace {

Expr atan(Expr x) { return x.make<ir::AtanOp>(x.v); }

Expr tan(Expr x) { return sin(x) / cos(x); }

/// atan(x / sqrt(1 - x^2)), with the root factored to avoid cancellation.
Expr asin(Expr x) { return atan(x / sqrt((1.0 - x) * (x + 1))); }

Expr acos(Expr x) { return atan(sqrt((1.0 - x) / (x + 1))) * 2; }

Expr cosh(Expr x) {
  Expr grown = exp(abs(x));
  return (grown + grown.make<ir::ReciprocalOp>(grown.v)) * 0.5;
}

Expr sinh(Expr x) { return tanh(x) * cosh(x); }

/// log(1 + x). What w = 1 + x rounds off, of a small x, is added to first
/// order, without a gradient, which is that of log(w).
Expr log1p(Expr x) {
  Expr w = x + 1, lost = select(abs(x) < 1, (x - (w - 1)) / w, 0);
  return log(w) + lost.make<ir::StopGradientOp>(lost.v);
}

/// sign(x) log(|x| + sqrt(x^2 + 1)), by log1p. The gradient of |x| would be 0
/// at 0.
Expr asinh(Expr x) {
  Expr square = x * x, sign = select(x < 0, x.scalar(-1), x.scalar(1));
  return sign * log1p(x * sign + square / (sqrt(square + 1) + 1));
}

Expr acosh(Expr x) {
  Expr over = x - 1;
  return log1p(over + sqrt(over * (x + 1)));
}

Expr atanh(Expr x) { return (log1p(x) - log1p(-x)) * 0.5; }

template <Expr (*function)(Expr)> LogicalResult row(const Node &n) {
  DLC_GET(auto x, input(n, 0));
  return n.result(function(ir::wide(x)).cast(x.element()));
}

} // namespace
} // namespace trigonometry

void addTrigonometryRows(Rows &rows) {
  rows["Tan"] = trigonometry::row<trigonometry::tan>;
  rows["Asin"] = trigonometry::row<trigonometry::asin>;
  rows["Acos"] = trigonometry::row<trigonometry::acos>;
  rows["Sinh"] = trigonometry::row<trigonometry::sinh>;
  rows["Cosh"] = trigonometry::row<trigonometry::cosh>;
  rows["Asinh"] = trigonometry::row<trigonometry::asinh>;
  rows["Acosh"] = trigonometry::row<trigonometry::acosh>;
  rows["Atanh"] = trigonometry::row<trigonometry::atanh>;
}

namespace signals {
namespace {

/// Product of the last dimension of `a` with a matrix.
Expr product(Expr a, Expr matrix) {
  Shape shape = shapeOf(a);
  const int64_t size = shape.back(), rows = size ? sizeOf(shape) / size : 0;
  shape.back() = matrix.shape()[1];
  return matmul(a.reshape({rows, size}), matrix).reshape(shape);
}

/// A transform along an axis of `size` samples; `kept` of the `length`
/// frequencies are computed.
struct Transform {
  int64_t length, kept;
  bool isInverse, isHalf;
};

/// cos and sin of 2 pi t k / length, [samples, kept].
struct Circle {
  Expr c, s;
};

/// Angles are reduced as integers to quarter turns, whose sines are exact.
Circle circleOf(const Node &n, const Transform &t, int64_t places, int64_t kept,
                Type element) {
  const Shape shape{places, kept};
  Expr turns = iota(n, shape, 0) * iota(n, shape, 1);
  Expr length = turns.scalar(double(t.length));
  Expr quarters = (turns - turns / length * length) * 4;
  Expr quarter = quarters / length;
  Expr angle = (quarters - quarter * length).cast(element) *
               (M_PI / 2 / double(t.length));
  Expr c = cos(angle), s = sin(angle);
  auto isAt = [&](double q) { return quarter == q; };
  auto pick = [&](Expr q0, Expr q1, Expr q2, Expr q3) {
    return select(isAt(0), q0, select(isAt(1), q1, select(isAt(2), q2, q3)));
  };
  return {pick(c, -s, -c, s), pick(s, c, -s, -c)};
}

/// Truncates or zero-pads the last dimension to `size`.
Expr fitted(Expr x, int64_t size) {
  const int64_t axis = x.rank() - 1, found = x.shape()[axis];
  return found > size ? part(x, axis, 0, size)
                      : padded(x, axis, 0, size - found);
}

/// The real part (i = 0) or imaginary part (i = 1), with the axis last.
Expr partOf(Expr x, int64_t i, int64_t axis) {
  const int64_t last = x.rank() - 1;
  return moved(sliceOf(x, last, i), axis, last - 1);
}

/// [..., 1] or [..., 2] (real, imaginary) along `axis` to [..., 2].
Expr forward(const Node &n, Expr x, int64_t axis, const Transform &t) {
  const int64_t last = x.rank() - 1;
  const bool isComplex = x.shape()[last] == 2;
  auto [c, s] = circleOf(n, t, t.length, t.kept, x.element());
  if (t.isInverse)
    s = -s;
  Expr a = fitted(partOf(x, 0, axis), t.length);
  Expr real = product(a, c), imaginary = -product(a, s);
  if (isComplex) {
    Expr b = fitted(partOf(x, 1, axis), t.length);
    real = real + product(b, s);
    imaginary = imaginary + product(b, c);
  }
  if (t.isInverse) {
    real = real / double(t.length);
    imaginary = imaginary / double(t.length);
  }
  auto back = [&](Expr y) {
    return unsqueezed(moved(y, last - 1, axis), last);
  };
  return joined({back(real), back(imaginary)}, last);
}

/// Inverse of a one-sided spectrum [..., 2] to real numbers [..., 1]; imaginary
/// parts that must be 0 are ignored.
Expr realInverse(const Node &n, Expr x, int64_t axis, const Transform &t) {
  const int64_t last = x.rank() - 1, half = t.length / 2 + 1;
  auto [c, s] = circleOf(n, t, half, t.length, x.element());
  Expr place = iota(n, {half, 1}, 0);
  Expr isOnce = place == 0;
  if (t.length % 2 == 0)
    isOnce = either(isOnce, place == half - 1);
  Expr weight = select(isOnce, c.scalar(1), c.scalar(2)) / double(t.length);
  Expr y = product(fitted(partOf(x, 0, axis), half), c * weight);
  if (x.shape()[last] == 2)
    y = y - product(fitted(partOf(x, 1, axis), half), s * weight);
  return unsqueezed(moved(y, last - 1, axis), last);
}

FailureOr<Transform> transformOf(const Node &n, int64_t length, bool isInverse,
                                 bool isHalf) {
  if (length < 1)
    return n.fail("the length of the transform is {}, expected at least 1",
                  length);
  const Transform t{length, isHalf && !isInverse ? length / 2 + 1 : length,
                    isInverse, isHalf};
  DLC_CHECK(
      checkFits(n, {t.length, t.kept}, "a table of angles", int64_t(1) << 26));
  return t;
}

/// x as real or complex numbers of at least 32 bits. A signal [batch, length]
/// of STFT is real, as in torch's exporter and ONNX Runtime.
FailureOr<Expr> signalOf(const Node &n, size_t least) {
  DLC_GET(auto x, input(n, 0));
  const Shape shape = shapeOf(x);
  if (least == 3 && shape.size() == 2)
    return unsqueezed(ir::wide(x), 2);
  if (shape.size() < least || shape.back() < 1 || shape.back() > 2)
    return n.fail("expected a signal of at least {} dimensions, 1 or 2 numbers "
                  "in the last, found {}",
                  least, shape);
  return ir::wide(x);
}

LogicalResult dft(const Node &n) {
  DLC_GET(auto x, signalOf(n, 2));
  DLC_GET(const int64_t axis, n.numberOr(2, "axis", -2));
  DLC_GET(auto resolved, n.checked(normalizeAxis(axis, size_t(x.rank()))));
  if (resolved == x.rank() - 1)
    return n.fail("axis {} is that of the complex parts", axis);
  const bool isInverse = n.integer("inverse", 0);
  const bool isHalf = n.integer("onesided", 0);
  const int64_t size = x.shape()[resolved];
  DLC_GET(const int64_t length,
          n.numberOr(1, "dft_length",
                     double(isInverse && isHalf ? 2 * (size - 1) : size)));
  DLC_GET(auto t, transformOf(n, length, isInverse, isHalf));
  Expr y = isInverse && isHalf ? realInverse(n, x, resolved, t)
                               : forward(n, x, resolved, t);
  return n.result(y.cast(n.type(0).getElementType()));
}

/// Frames [batch, frames, length, 1 or 2] of a signal with hop `step`.
FailureOr<Expr> framesOf(const Node &n, Expr x, int64_t length, int64_t step) {
  const int64_t size = x.shape()[1];
  if (step < 1 || length < 1 || length > size)
    return n.fail("frames of {} places, {} apart, of a signal of {}", length,
                  step, size);
  const Shape shape{(size - length) / step + 1, length};
  DLC_CHECK(checkFits(n, {x.shape()[0], shape[0], length}, "the frames",
                      int64_t(1) << 32));
  Expr place = iota(n, shape, 0) * double(step) + iota(n, shape, 1);
  return gathered(x, place, 1);
}

LogicalResult stft(const Node &n) {
  DLC_GET(auto x, signalOf(n, 3));
  DLC_GET(auto step, n.number(1, "frame_step"));
  if (x.rank() != 3)
    return n.fail("expected a signal [batch, length, 1 or 2], found {}",
                  shapeOf(x));
  const int64_t ofWindow = n.shape(2).size() == 1 ? n.shape(2)[0] : 0;
  DLC_GET(const int64_t length,
          n.numberOr(3, "frame_length",
                     double(n.has(2) ? ofWindow : x.shape()[1])));
  if (n.has(2) && n.shape(2) != Shape{length})
    return n.fail("the window has shape {}, expected that of a frame, [{}]",
                  n.shape(2), length);
  DLC_GET(auto frames, framesOf(n, x, length, int64_t(step)));
  DLC_GET(auto t, transformOf(n, length, false, n.integer("onesided", 1)));
  if (n.has(2)) {
    DLC_GET(auto window, input(n, 2));
    Expr each = window.cast(frames.element());
    frames = frames * each.reshape({length, 1});
  }
  return n.result(forward(n, frames, 2, t).cast(n.type(0).getElementType()));
}

bool fits(const Node &n, size_t input, const Shape &shape) {
  return !n.has(input) || n.shape(input) == shape;
}

/// Prepends the last steps: the state, or zeros.
FailureOr<Expr> behindPast(const Node &n, Expr x, int64_t before) {
  if (!n.has(3) || before == 0)
    return padded(x, 2, before, 0);
  auto kept = input(n, 3);
  return failed(kept) ? kept : joined({*kept, x}, 2);
}

/// Convolves each channel of [B, C, L] with its taps [C, 1, K] over the current
/// and K - 1 earlier steps.
LogicalResult causalConv(const Node &n, Expr x, Expr w) {
  const Shape sx = shapeOf(x), sw = shapeOf(w);
  if (sx.size() != 3 || sw.size() != 3 || sw != Shape{sx[1], 1, sw[2]} ||
      sw[2] < 1)
    return n.fail("expected an input [batch, channels, length] and weights "
                  "[channels, 1, taps], found {} and {}",
                  sx, sw);
  const int64_t channels = sx[1], length = sx[2], before = sw[2] - 1;
  DLC_GET(const auto activation,
          n.choice("activation", "none", {"none", "silu", "swish"}));
  const Shape past{sx[0], channels, before};
  if (!fits(n, 2, {channels}) || !fits(n, 3, past))
    return n.fail("expected a bias [{}] and a past_state of shape {}", channels,
                  past);
  DLC_GET(auto all, behindPast(n, x, before));
  const int64_t one = 1, none[] = {0, 0};
  Value y =
      n.make<ir::ConvOp>(all.v, w.v, n.has(2) ? n.in(2) : Value(),
                         ArrayRef<int64_t>(one), ArrayRef<int64_t>(none),
                         ArrayRef<int64_t>(one), uint64_t(channels), "nchw");
  if (!y || failed(n.result(1, part(all, 2, length, before))))
    return failure();
  if (activation == "none")
    return n.result(y);
  Expr wide = ir::wide(n.expr(y));
  return n.result((wide * sigmoid(wide)).cast(ir::elementType(y)));
}

} // namespace
} // namespace signals

void addSignalRows(Rows &rows) {
  rows["DFT"] = signals::dft;
  rows["STFT"] = signals::stft;
  rows["CausalConvWithState"] = ofInputs<signals::causalConv>;
}

} // namespace dlc::import
