// SPDX-License-Identifier: Apache-2.0
// Pooling without a library: taps of a window are shifted slices of the padded
// images; for gradients they are slices of the dilated outputs.
#include "compiler/dialect/ops/Windows.h"
#include "compiler/lower/decompose/Decompositions.h"
#include "compiler/lower/decompose/Rows.h"

using namespace mlir;

namespace dlc::ir {
namespace {

using Sizes = SmallVector<int64_t, ImageDims::kMost>;

/// The taps of a pooling window.
struct Window {
  template <class OpTy>
  explicit Window(OpTy op)
      : sizes(windowOf(op)), images(imageDims(op, op->getOperand(0))) {}

  int64_t rank() const { return images.rank; }
  int64_t count() const { return images.count(); }
  int64_t axis(int64_t d) const { return images.spatial() + d; }
  Sliding along(int64_t d) const { return sizes.along(d); }
  /// Elements of the padded image along dimension d before tap `t`.
  int64_t offset(int64_t t, int64_t d) const {
    for (int64_t i = count() - 1; i > d; --i)
      t /= sizes.kernel[i];
    return t % sizes.kernel[d] * sizes.dilations[d];
  }

  WindowSizes sizes;
  ImageDims images;
};

Expr pad(Expr x, Ints low, Ints high, Ints interior, double value) {
  return x.make<PadOp>(x.v, low, high, interior, llvm::APFloat(value));
}
Expr slice(Expr x, Ints starts, Ints sizes, Ints steps) {
  return x.make<SliceOp>(x.v, starts, sizes, steps);
}

/// Calls f for each tap with the elements of x that the outputs read; `outside`
/// in padding.
template <class F>
void forEachTap(const Window &w, Expr x, Ints result, double outside, F f) {
  const int64_t rank = w.rank();
  Sizes low(rank, 0), high(rank, 0), none(rank, 0), steps(rank, 1);
  for (int64_t d = 0; d < w.count(); ++d) {
    const Sliding along = w.along(d);
    low[w.axis(d)] = along.low;
    high[w.axis(d)] = along.high;
    steps[w.axis(d)] = along.stride;
  }
  Expr padded = pad(x, low, high, none, outside);
  for (int64_t t = 0; t < w.sizes.taps(); ++t) {
    Sizes starts(rank, 0);
    for (int64_t d = 0; d < w.count(); ++d)
      starts[w.axis(d)] = w.offset(t, d);
    f(t, slice(padded, starts, result, steps));
  }
}

/// The inverse: for each tap, the elements of the ys that read the image's
/// elements, in shape `result`; `outside` where none does.
template <class F>
void forEachSeen(const Window &w, ArrayRef<Expr> ys, Ints result,
                 double outside, F f) {
  const int64_t rank = w.rank();
  Sizes low(rank, 0), high(rank, 0), interior(rank, 0), steps(rank, 1);
  for (int64_t d = 0; d < w.count(); ++d) {
    const Sliding along = w.along(d);
    int64_t a = w.axis(d), outputs = ys[0].shape()[a];
    int64_t length = (outputs - 1) * along.stride + 1;
    interior[a] = along.stride - 1;
    low[a] = std::max<int64_t>(along.span() - 1 - along.low, 0);
    high[a] = std::max<int64_t>(along.low + result[a] - length, 0);
  }
  SmallVector<Expr> spread;
  for (Expr y : ys)
    spread.push_back(pad(y, low, high, interior, outside));
  for (int64_t t = 0; t < w.sizes.taps(); ++t) {
    Sizes starts(rank, 0);
    for (int64_t d = 0; d < w.count(); ++d)
      starts[w.axis(d)] = low[w.axis(d)] + w.along(d).low - w.offset(t, d);
    SmallVector<Expr> seen;
    for (Expr y : spread)
      seen.push_back(slice(y, starts, result, steps));
    f(t, seen);
  }
}

Expr number(Expr like, Type element, double value) {
  return like.make<ConstantOp>(value, RankedTensorType::get({}, element));
}
Expr broadcastTo(Expr x, Ints shape) {
  return x.make<BroadcastOp>(x.type().clone(shape), x.v);
}

/// The first maximum, or the last NaN.
auto maxPool(Decomposition<MaxPoolOp> &d) {
  MaxPoolOp op = d.op;
  Expr x = d.expr(op.getX());
  Type position = elementType(op.getIndex());
  Ints shape = tensorType(op.getY()).getShape();
  Expr best = broadcastTo(x.scalar(-INFINITY), shape),
       index = broadcastTo(number(x, position, 0), shape);
  forEachTap(Window(op), x, shape, -INFINITY, [&](int64_t t, Expr seen) {
    Expr isNan = seen != seen;
    Expr isMore = seen > best;
    Expr better = either(isMore, isNan);
    best = select(better, seen, best);
    index = select(better, number(x, position, (int8_t)t), index);
  });
  return d.results({best, index});
}

auto maxPoolBackward(Decomposition<MaxPoolBackwardOp> &d) {
  MaxPoolBackwardOp op = d.op;
  Expr dy = d.expr(op.getDy()), index = d.expr(op.getIndex());
  Type position = elementType(op.getIndex());
  Window window(op);
  Ints shape = tensorType(op.getDx()).getShape();
  std::optional<Expr> dx;
  forEachSeen(window, {dy, index}, shape, 0, [&](int64_t t, auto seen) {
    // Without an output the gradient is zero, whatever the position.
    Expr chosen = seen[1] == number(dy, position, (int8_t)t);
    Expr gradient = wide(seen[0]);
    Expr term = select(chosen, gradient, 0);
    dx = dx ? *dx + term : term;
  });
  return d.results({*dx});
}

/// Number of valid taps for each output along d.
Sizes counts(const Window &w, int64_t d, int64_t size, int64_t outputs,
             bool padded) {
  Sizes n;
  for (int64_t o = 0; o < outputs; ++o)
    n.push_back(w.along(d).counted(o, size, padded));
  return n;
}

/// y divided by the number of taps of each window.
template <class OpTy> Expr divided(OpTy op, Expr y, Ints image) {
  Window w(op);
  double all = 1;
  for (int64_t d = 0; d < w.count(); ++d) {
    int64_t a = w.axis(d);
    Sizes n = counts(w, d, image[a], y.shape()[a], op.getCountIncludePad());
    if (llvm::all_equal(n)) {
      all *= n.empty() ? 1 : n[0];
      continue;
    }
    Sizes shape(w.rank(), 1);
    shape[a] = n.size();
    auto type = y.type().clone(shape);
    auto element = cast<FloatType>(type.getElementType());
    SmallVector<APFloat> values;
    for (int64_t v : n) {
      values.push_back(APFloat(1.0 / (double)v));
      bool exact;
      values.back().convert(element.getFloatSemantics(),
                            APFloat::rmNearestTiesToEven, &exact);
    }
    Expr factors = y.make<ConstantOp>(
        type, cast<ElementsAttr>(DenseElementsAttr::get(type, values)));
    y = y * factors;
  }
  return y * (1 / all);
}

auto avgPool(Decomposition<AvgPoolOp> &d) {
  AvgPoolOp op = d.op;
  Expr x = d.expr(op.getX());
  Ints shape = tensorType(op.getY()).getShape();
  Window w(op);
  bool isGlobal = true;
  for (int64_t i = 0; i < w.count(); ++i) {
    const Sliding along = w.along(i);
    isGlobal &= along.kernel == x.shape()[w.axis(i)] && along.dilation == 1 &&
                along.low == 0 && along.high == 0;
  }
  if (isGlobal)
    return d.results(
        {wide(x).mean(axesBetween(w.axis(0), w.axis(w.count())), true)});
  std::optional<Expr> sum;
  forEachTap(w, x, shape, 0, [&](int64_t, Expr seen) {
    sum = sum ? *sum + wide(seen) : wide(seen);
  });
  return d.results({divided(op, *sum, x.shape())});
}

auto avgPoolBackward(Decomposition<AvgPoolBackwardOp> &d) {
  AvgPoolBackwardOp op = d.op;
  Ints shape = tensorType(op.getDx()).getShape();
  Expr dy = d.expr(op.getDy());
  Expr part = divided(op, wide(dy), shape).cast(dy.element());
  std::optional<Expr> dx;
  forEachSeen(Window(op), {part}, shape, 0, [&](int64_t, auto seen) {
    dx = dx ? *dx + wide(seen[0]) : wide(seen[0]);
  });
  return d.results({*dx});
}

} // namespace
} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachPoolDecompositions(MLIRContext &c) {
  decomposition<MaxPoolOp>(c, [](auto &d) { return maxPool(d); });
  decomposition<MaxPoolBackwardOp>(c,
                                   [](auto &d) { return maxPoolBackward(d); });
  decomposition<AvgPoolOp>(c, [](auto &d) { return avgPool(d); });
  decomposition<AvgPoolBackwardOp>(c,
                                   [](auto &d) { return avgPoolBackward(d); });
}
