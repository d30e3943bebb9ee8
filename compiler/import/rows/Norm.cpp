// SPDX-License-Identifier: Apache-2.0
// Normalisation and softmax, as dlc ops or composed of others.
#include "compiler/dialect/Expr.h"
#include "compiler/import/rows/Rows.h"
#include "onnx-ml.pb.h"

using namespace mlir;
using dlc::ir::Expr;

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
LogicalResult rmsNorm(const Node &n) {
  DLC_GET(Value x, n.in(0));
  DLC_GET(auto axis, n.axis("axis", -1, shapeOf(x).size()));
  std::vector<int64_t> axes;
  for (int64_t d = axis; d < int64_t(shapeOf(x).size()); ++d)
    axes.push_back(d);
  Value square = n.make<ir::MulOp>(x, x);
  Value mean = n.make<ir::ReduceMeanOp>(square, ArrayRef<int64_t>(axes), true);
  Value shifted =
      n.make<ir::AddOp>(mean, n.constant(n.number("epsilon", 1e-5), mean));
  Value normal = n.make<ir::MulOp>(x, n.make<ir::RsqrtOp>(shifted));
  return n.result(n.make<ir::MulOp>(normal, n.in(1)));
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
  auto type = RankedTensorType::get(shapeOf(x), ir::elementType(best));
  Value index = ir::IotaOp::create(n.b, n.loc, type, axis);
  Value hit = n.make<ir::CompareOp>(ir::Predicate::eq, index, best);
  return n.result(n.cast(hit, ir::elementType(x)));
}

//===--- Made of others
//-----------------------------------------------------===//

/// Shape that broadcasts [C] over the channels of a tensor of this rank.
Shape perChannel(int64_t channels, size_t rank) {
  Shape shape(rank, 1);
  shape[1] = channels;
  return shape;
}

/// (x - mean) / sqrt(variance + epsilon) over dimensions from `axis` on.
/// Statistics are at least f32, as in layer norm.
Value standardized(const Node &n, Value x, int64_t axis, double epsilon) {
  Shape shape = shapeOf(x), inner(shape.begin() + axis, shape.end());
  Type element = ir::elementType(x);
  if (ir::isHalf(element))
    element = n.b.getF32Type();
  auto filled = [&](double value) {
    DType dtype = toDType(element);
    return n.broadcast(n.constant(HostTensor::scalar(dtype, value)), inner);
  };
  Value one = filled(1), zero = filled(0);
  Operation *op = n.makeOp<ir::LayerNormOp>(3, x, one, zero, uint64_t(axis),
                                            llvm::APFloat(epsilon));
  return op ? op->getResult(0) : Value();
}

/// y * scale + bias, both per channel.
LogicalResult scaled(const Node &n, Value y, Value scale, Value bias,
                     const Shape &shape) {
  if (!y || !scale || !bias)
    return failure();
  Type element = ir::elementType(y);
  Value grown = n.make<ir::MulOp>(y, n.cast(n.reshape(scale, shape), element));
  return n.result(
      n.make<ir::AddOp>(grown, n.cast(n.reshape(bias, shape), element)));
}

LogicalResult expectVector(const Node &n, size_t input, int64_t size,
                           const char *what) {
  if (n.shape(input) == Shape{size})
    return success();
  return n.fail() << "expected " << what << " of shape "
                  << toString(Shape{size}) << ", found "
                  << toString(n.shape(input));
}

/// Number of channels of an input of rank `least` or more.
FailureOr<int64_t> channelsOf(const Node &n, const Shape &shape, size_t least) {
  if (shape.size() >= least)
    return shape[1];
  return n.fail() << "expected an input of rank " << least << " or more, found "
                  << toString(shape);
}

/// Batch norm with statistics that the graph computes, as in weight
/// standardisation: no running statistics; gradients flow through them.
LogicalResult normByValues(const Node &n, Value input, Value scale, Value bias,
                           Value mean, Value variance) {
  Shape shape = shapeOf(input);
  DLC_GET(auto channels, channelsOf(n, shape, 2));
  for (size_t i = 1; i < 5; ++i)
    DLC_CHECK(expectVector(n, i, channels, "a vector"));
  Shape vector = perChannel(channels, shape.size());
  Expr x = ir::wide(Expr(n.b, n.loc, input));
  Expr middle = ir::wide(Expr(n.b, n.loc, n.reshape(mean, vector)));
  Expr spread = ir::wide(Expr(n.b, n.loc, n.reshape(variance, vector)));
  if (n.integer("training_mode", 0)) {
    std::vector<int64_t> others = {0};
    for (size_t d = 2; d < shape.size(); ++d)
      others.push_back(int64_t(d));
    middle = x.mean(others, true);
    Expr centered = x - middle;
    spread = (centered * centered).mean(others, true);
  }
  Expr y = (x - middle) / sqrt(spread + n.number("epsilon", 1e-5));
  return scaled(n, y.cast(ir::elementType(input)), scale, bias, vector);
}

/// Imported as inference, whatever the source's mode: dlc-train-mode converts
/// it to batch statistics.
LogicalResult batchNorm(const Node &n) {
  for (size_t i = 1; i < n.outputs(); ++i)
    if (n.uses(i))
      return n.fail() << "output '" << n.proto.output(i)
                      << "' (running statistics) is used as a value; they are "
                         "state and cannot be read in the step";
  Value x = n.in(0), scale = n.in(1), bias = n.in(2), mean = n.in(3),
        var = n.in(4);
  for (Value v : {scale, bias, mean, var})
    if (v && ir::isHalf(ir::elementType(v)))
      return n.fail() << "a BatchNormalization whose scale, bias or statistics "
                         "are "
                      << ir::elementType(v)
                      << " is not supported, expected them in f32";
  auto isComputed = [&](size_t input, Value v) {
    return v && !n.host(input) && !v.getDefiningOp<ir::ReadOp>();
  };
  if (x && scale && bias && isComputed(3, mean) && isComputed(4, var))
    return normByValues(n, x, scale, bias, mean, var);
  return n.result(n.make<ir::BatchNormInferOp>(
      x, scale, bias, mean, var, llvm::APFloat(n.number("epsilon", 1e-5)),
      llvm::APFloat(n.number("momentum", 0.9)), "nchw"));
}

LogicalResult instanceNorm(const Node &n) {
  DLC_GET(Value x, n.in(0));
  Shape shape = shapeOf(x);
  auto channels = channelsOf(n, shape, 3);
  if (failed(channels) || failed(expectVector(n, 1, *channels, "a scale")) ||
      failed(expectVector(n, 2, *channels, "a bias")))
    return failure();
  Value y = standardized(n, x, 2, n.number("epsilon", 1e-5));
  return scaled(n, y, n.in(1), n.in(2), perChannel(*channels, shape.size()));
}

LogicalResult groupNorm(const Node &n) {
  DLC_GET(Value x, n.in(0));
  Shape shape = shapeOf(x);
  DLC_GET(auto channels, channelsOf(n, shape, 3));
  const int64_t groups = n.integer("num_groups", 0);
  if (groups < 1 || channels % groups)
    return n.fail() << "num_groups is " << groups
                    << ", which does not divide the " << channels
                    << " channels";
  if (failed(expectVector(n, 1, channels, "a scale")) ||
      failed(expectVector(n, 2, channels, "a bias")))
    return failure();
  Shape grouped = shape;
  grouped[1] = channels / groups;
  grouped.insert(grouped.begin() + 1, groups);
  Value y =
      standardized(n, n.reshape(x, grouped), 2, n.number("epsilon", 1e-5));
  return scaled(n, n.reshape(y, shape), n.in(1), n.in(2),
                perChannel(channels, shape.size()));
}

/// x / norm along one axis; 0 if the norm is 0, which is replaced by 1 so that
/// the gradient is finite.
LogicalResult lpNormalization(const Node &n) {
  DLC_GET(Value input, n.in(0));
  DLC_GET(auto axis, n.axis("axis", -1, shapeOf(input).size()));
  const int64_t p = n.integer("p", 2);
  if (p != 1 && p != 2)
    return n.fail() << "p is " << p << ", expected 1 or 2";
  Expr x(n.b, n.loc, input), wide = ir::wide(x);
  Expr sum = (p == 1 ? abs(wide) : wide * wide).sum({axis}, true);
  Expr safe = select(compare(ir::Predicate::eq, sum, sum.scalar(0)),
                     sum.scalar(1), sum);
  Expr y = wide / (p == 1 ? safe : sqrt(safe));
  return n.result(y.cast(ir::elementType(input)));
}

/// x / (bias + alpha / size * (sum of squares of adjacent channels))^beta; the
/// mean over a window of channels is an average pool of [N, 1, C, D...].
LogicalResult lrn(const Node &n) {
  DLC_GET(Value input, n.in(0));
  Shape shape = shapeOf(input);
  DLC_GET(auto channels, channelsOf(n, shape, 2));
  const int64_t size = n.integer("size", 0);
  if (size < 1 || size > 2 * channels)
    return n.fail() << "size is " << size << ", expected 1 to " << 2 * channels
                    << " for " << channels << " channels";
  Expr x(n.b, n.loc, input);
  const int64_t rest =
      x.type().getNumElements() / std::max<int64_t>(1, shape[0] * channels);
  Expr squares = (x * x).reshape({shape[0], 1, channels, rest});
  const int64_t kernel[] = {size, 1}, ones[] = {1, 1};
  const int64_t pads[] = {(size - 1) / 2, 0, size / 2, 0};
  DLC_GET(Value means,
          n.make<ir::AvgPoolOp>(squares.v, ArrayRef(kernel), ArrayRef(ones),
                                ArrayRef(pads), ArrayRef(ones), "nchw",
                                /*count_include_pad=*/true));
  Expr mean = Expr(n.b, n.loc, means).reshape(shape);
  Expr base = mean * n.number("alpha", 1e-4) + n.number("bias", 1);
  return n.result(x * pow(base, x.scalar(-n.number("beta", 0.75))));
}

/// (x - mean) / (deviation + 1e-9); if the deviation is 0, it is replaced by 1,
/// and the result is 0.
LogicalResult meanVariance(const Node &n) {
  DLC_GET(Value input, n.in(0));
  DLC_GET(auto axes, n.checked(normalizeAxes(n.integers("axes", {0, 2, 3}),
                                             shapeOf(input).size())));
  Expr x = ir::wide(Expr(n.b, n.loc, input));
  Expr centered = x - x.mean(axes, true);
  Expr variance = (centered * centered).mean(axes, true);
  Expr safe = select(compare(ir::Predicate::eq, variance, variance.scalar(0)),
                     variance.scalar(1), variance);
  return n.result(
      (centered / (sqrt(safe) + 1e-9)).cast(ir::elementType(input)));
}

} // namespace

void addNormRows(Rows &rows) {
  rows["BatchNormalization"] = batchNorm;
  rows["LayerNormalization"] = layerNorm;
  rows["RMSNormalization"] = rmsNorm;
  rows["Softmax"] = softmax<ir::SoftmaxOp>;
  rows["LogSoftmax"] = softmax<ir::LogSoftmaxOp>;
  rows["Hardmax"] = hardmax;
  rows["InstanceNormalization"] = instanceNorm;
  rows["GroupNormalization"] = groupNorm;
  rows["LpNormalization"] = lpNormalization;
  rows["LRN"] = lrn;
  rows["MeanVarianceNormalization"] = meanVariance;
}

} // namespace dlc::import
