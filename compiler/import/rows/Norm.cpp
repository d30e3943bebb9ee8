// SPDX-License-Identifier: Apache-2.0
// Normalisation and softmax, as dlc ops or composed of others.
#include "compiler/import/rows/Build.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace {

/// Scale and bias have the shape of the normalised dimensions.
LogicalResult layerNorm(const Node &n) {
  DLC_GET(Value x, n.in(0));
  Shape shape = shapeOf(x);
  DLC_GET(auto axis, n.axis("axis", -1, shape.size()));
  Shape inner(shape.begin() + axis, shape.end());
  Value scale = n.broadcast(n.in(1), inner);
  Value bias = n.has(2) ? n.in(2) : n.constant(0, scale);
  bias = n.broadcast(bias, inner);
  Operation *op =
      n.makeOp<ir::LayerNormOp>(3, x, scale, bias, uint64_t(axis),
                                llvm::APFloat(n.number("epsilon", 1e-5)));
  if (!op)
    return failure();
  for (size_t i = 0; i < 3; ++i)
    DLC_CHECK(n.result(i, op->getResult(i)));
  return success();
}

/// x / sqrt(mean(x^2) + epsilon) * scale
LogicalResult rmsNorm(const Node &n, Expr x) {
  DLC_GET(auto axis, n.axis("axis", -1, x.rank()));
  Expr mean = (x * x).mean(ir::axesBetween(axis, x.rank()), true);
  Expr normal = x * rsqrt(mean + n.number("epsilon", 1e-5));
  return n.result(n.make<ir::MulOp>(normal.v, n.in(1)));
}

template <typename Op> LogicalResult softmax(const Node &n) {
  DLC_GET(Value x, n.in(0));
  DLC_GET(auto axis, n.axis("axis", -1, shapeOf(x).size()));
  return n.result(n.make<Op>(x, uint64_t(axis)));
}

/// 1 at the first maximum, 0 elsewhere.
LogicalResult hardmax(const Node &n) {
  DLC_GET(Value x, n.in(0));
  DLC_GET(auto axis, n.axis("axis", -1, shapeOf(x).size()));
  DLC_GET(Value best, n.make<ir::ArgMaxOp>(x, ArrayRef<int64_t>(axis), true));
  Expr hit = iota(n, shapeOf(x), axis) == n.expr(best);
  return n.result(hit.cast(ir::elementType(x)));
}

//===--- Made of others ---------------------------------------------------===//

/// (x - mean) / sqrt(variance + epsilon) over dimensions from `axis` on.
/// Statistics are at least f32, as in layer norm.
Value standardized(const Node &n, Expr x, int64_t axis) {
  const Shape inner(x.shape().drop_front(axis));
  const Type element = ir::wideType(x.element());
  Expr one = filled(n, inner, element, 1), zero = filled(n, inner, element, 0);
  Operation *op =
      n.makeOp<ir::LayerNormOp>(3, x.v, one.v, zero.v, uint64_t(axis),
                                llvm::APFloat(n.number("epsilon", 1e-5)));
  return op ? op->getResult(0) : Value();
}

/// y * scale + bias, inputs 1 and 2, which are per channel.
LogicalResult scaled(const Node &n, Value y) {
  if (!y)
    return failure();
  const Type element = ir::elementType(y);
  const Shape shape = lineShape(shapeOf(y).size(), 1, shapeOf(y)[1]);
  DLC_GET(auto bias, input(n, 2));
  DLC_GET(auto scale, input(n, 1));
  return n.result(n.expr(y) * scale.reshape(shape).cast(element) +
                  bias.reshape(shape).cast(element));
}

LogicalResult expectVector(const Node &n, size_t input, int64_t size,
                           const char *what) {
  if (n.shape(input) == Shape{size})
    return success();
  return n.fail("expected {} of shape {}, found {}", what, Shape{size},
                n.shape(input));
}

/// Number of channels of an input of rank `least` or more.
FailureOr<int64_t> channelsOf(const Node &n, const Shape &shape, size_t least) {
  if (shape.size() >= least)
    return shape[1];
  return n.fail("expected an input of rank {} or more, found {}", least, shape);
}

/// Batch norm whose statistics the step does not update: values that the graph
/// computes, as in weight standardisation, through which gradients flow, or
/// running statistics that stay as they are.
LogicalResult normByValues(const Node &n, Expr input, Expr mean, Expr variance,
                           bool isKept) {
  DLC_GET(auto channels, channelsOf(n, shapeOf(input), 2));
  for (size_t i = 1; i < 5; ++i)
    DLC_CHECK(expectVector(n, i, channels, "a vector"));
  const Shape vector = lineShape(input.rank(), 1, channels);
  Expr x = ir::wide(input), middle = ir::wide(mean.reshape(vector)),
       spread = ir::wide(variance.reshape(vector));
  if (!isKept && n.integer("training_mode", 0)) {
    auto others = ir::axesBetween(1, input.rank());
    others[0] = 0;
    middle = x.mean(others, true);
    Expr centered = x - middle;
    spread = (centered * centered).mean(others, true);
  }
  Expr y = (x - middle) / sqrt(spread + n.number("epsilon", 1e-5));
  return scaled(n, y.cast(input.element()));
}

/// Imported as inference, whatever the source's mode: dlc-train-mode converts
/// it to batch statistics, unless the source keeps its running ones.
LogicalResult batchNorm(const Node &n) {
  for (size_t i = 1; i < n.outputs(); ++i)
    if (n.uses(i))
      return n.fail("output '{}' (running statistics) is used as a value; they "
                    "are state and cannot be read in the step",
                    n.proto.output(i));
  Value x = n.in(0), scale = n.in(1), bias = n.in(2), mean = n.in(3),
        var = n.in(4);
  for (Value v : {scale, bias, mean, var})
    if (v && ir::isHalf(ir::elementType(v)))
      return n.fail("a BatchNormalization whose scale, bias or statistics are "
                    "{} is not supported, expected them in f32",
                    ir::elementType(v));
  auto isComputed = [&](size_t input, Value v) {
    return !n.host(input) && !v.getDefiningOp<ir::ReadOp>();
  };
  const bool isKept = n.table.keepsStatistics(n.proto.output(0));
  if (x && scale && bias && mean && var &&
      (isKept || (isComputed(3, mean) && isComputed(4, var))))
    return normByValues(n, n.expr(x), n.expr(mean), n.expr(var), isKept);
  return n.result(n.make<ir::BatchNormInferOp>(
      x, scale, bias, mean, var, llvm::APFloat(n.number("epsilon", 1e-5)),
      llvm::APFloat(n.number("momentum", 0.9)), "nchw"));
}

/// A scale and a bias, inputs 1 and 2, of one number per channel.
FailureOr<int64_t> channelsToScale(const Node &n, Expr x) {
  DLC_GET(auto channels, channelsOf(n, shapeOf(x), 3));
  DLC_CHECK(expectVector(n, 1, channels, "a scale"));
  DLC_CHECK(expectVector(n, 2, channels, "a bias"));
  return channels;
}

LogicalResult instanceNorm(const Node &n, Expr x) {
  DLC_CHECK(channelsToScale(n, x));
  return scaled(n, standardized(n, x, 2));
}

LogicalResult groupNorm(const Node &n, Expr x) {
  DLC_GET(auto channels, channelsToScale(n, x));
  const int64_t groups = n.integer("num_groups", 0);
  if (groups < 1 || channels % groups)
    return n.fail("num_groups is {}, which does not divide the {} channels",
                  groups, channels);
  Shape grouped = shapeOf(x);
  grouped[1] = channels / groups;
  grouped.insert(grouped.begin() + 1, groups);
  Value y = standardized(n, x.reshape(grouped), 2);
  return scaled(n, n.reshape(y, shapeOf(x)));
}

/// x / norm along one axis; 0 if the norm is 0, which is replaced by 1 so that
/// the gradient is finite.
LogicalResult lpNormalization(const Node &n, Expr x) {
  DLC_GET(auto axis, n.axis("axis", -1, x.rank()));
  const int64_t p = n.integer("p", 2);
  if (p != 1 && p != 2)
    return n.fail("p is {}, expected 1 or 2", p);
  Expr wide = ir::wide(x);
  Expr sum = (p == 1 ? abs(wide) : wide * wide).sum({axis}, true);
  Expr safe = select(sum == 0, 1, sum);
  Expr y = wide / (p == 1 ? safe : sqrt(safe));
  return n.result(y.cast(x.element()));
}

/// x / (bias + alpha / size * (sum of squares of adjacent channels))^beta; the
/// mean over a window of channels is an average pool of [N, 1, C, D...].
LogicalResult lrn(const Node &n, Expr x) {
  const Shape shape = shapeOf(x);
  DLC_GET(auto channels, channelsOf(n, shape, 2));
  const int64_t size = n.integer("size", 0);
  if (size < 1 || size > 2 * channels)
    return n.fail("size is {}, expected 1 to {} for {} channels", size,
                  2 * channels, channels);
  const int64_t rest =
      x.type().getNumElements() / std::max<int64_t>(1, shape[0] * channels);
  Expr squares = (x * x).reshape({shape[0], 1, channels, rest});
  const int64_t kernel[] = {size, 1}, ones[] = {1, 1};
  const int64_t pads[] = {(size - 1) / 2, 0, size / 2, 0};
  DLC_GET(Value means,
          n.make<ir::AvgPoolOp>(squares.v, ArrayRef(kernel), ArrayRef(ones),
                                ArrayRef(pads), ArrayRef(ones), "nchw",
                                /*count_include_pad=*/true));
  Expr mean = n.expr(means).reshape(shape);
  Expr base = mean * n.number("alpha", 1e-4) + n.number("bias", 1);
  return n.result(x * pow(base, x.scalar(-n.number("beta", 0.75))));
}

/// (x - mean) / (deviation + 1e-9); if the deviation is 0, it is replaced by 1,
/// and the result is 0.
LogicalResult meanVariance(const Node &n, Expr given) {
  DLC_GET(auto axes, n.checked(normalizeAxes(n.integers("axes", {0, 2, 3}),
                                             given.rank())));
  Expr x = ir::wide(given);
  Expr centered = x - x.mean(axes, true);
  Expr variance = (centered * centered).mean(axes, true);
  Expr safe = select(variance == 0, 1, variance);
  return n.result((centered / (sqrt(safe) + 1e-9)).cast(given.element()));
}

} // namespace

void addNormRows(Rows &rows) {
  rows["BatchNormalization"] = batchNorm;
  rows["LayerNormalization"] = layerNorm;
  rows["RMSNormalization"] = ofInputs<rmsNorm>;
  rows["Softmax"] = softmax<ir::SoftmaxOp>;
  rows["LogSoftmax"] = softmax<ir::LogSoftmaxOp>;
  rows["Hardmax"] = hardmax;
  rows["InstanceNormalization"] = ofInputs<instanceNorm>;
  rows["GroupNormalization"] = ofInputs<groupNorm>;
  rows["LpNormalization"] = ofInputs<lpNormalization>;
  rows["LRN"] = ofInputs<lrn>;
  rows["MeanVarianceNormalization"] = ofInputs<meanVariance>;
}

} // namespace dlc::import
