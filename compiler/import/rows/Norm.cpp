// Normalisation and softmax.
#include "compiler/import/rows/Rows.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace {

/// As inference, whatever the source ran: training normalises by the batch in
/// any case (dlc-train-mode).
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
  return n.result(n.make<ir::BatchNormInferOp>(
      x, scale, bias, mean, var, llvm::APFloat(n.number("epsilon", 1e-5)),
      llvm::APFloat(n.number("momentum", 0.9)), "nchw"));
}

/// Scale and bias take the shape of the normalised dimensions.
LogicalResult layerNorm(const Node &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  Shape shape = shapeOf(x);
  auto axis = n.axis("axis", -1, shape.size());
  if (failed(axis))
    return failure();
  Shape inner(shape.begin() + *axis, shape.end());
  Value scale = n.broadcast(n.in(1), inner);
  Value bias = n.has(2) ? n.in(2) : n.constant(0, scale);
  bias = n.broadcast(bias, inner);
  Operation *op =
      n.makeOp<ir::LayerNormOp>(3, x, scale, bias, uint64_t(*axis),
                                llvm::APFloat(n.number("epsilon", 1e-5)));
  if (!op)
    return failure();
  for (size_t i = 0; i < 3; ++i)
    if (failed(n.result(i, op->getResult(i))))
      return failure();
  return success();
}

/// x / sqrt(mean(x^2) + epsilon) * scale
LogicalResult rmsNorm(const Node &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  auto axis = n.axis("axis", -1, shapeOf(x).size());
  if (failed(axis))
    return failure();
  std::vector<int64_t> axes;
  for (int64_t d = *axis; d < int64_t(shapeOf(x).size()); ++d)
    axes.push_back(d);
  Value square = n.make<ir::MulOp>(x, x);
  Value mean = n.make<ir::ReduceMeanOp>(square, ArrayRef<int64_t>(axes), true);
  Value shifted =
      n.make<ir::AddOp>(mean, n.constant(n.number("epsilon", 1e-5), mean));
  Value normal = n.make<ir::MulOp>(x, n.make<ir::RsqrtOp>(shifted));
  return n.result(n.make<ir::MulOp>(normal, n.in(1)));
}

template <typename Op> LogicalResult softmax(const Node &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  auto axis = n.axis("axis", -1, shapeOf(x).size());
  if (failed(axis))
    return failure();
  return n.result(n.make<Op>(x, uint64_t(*axis)));
}

/// 1 at the first maximum, 0 elsewhere.
LogicalResult hardmax(const Node &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  auto axis = n.axis("axis", -1, shapeOf(x).size());
  if (failed(axis))
    return failure();
  Value best = n.make<ir::ArgMaxOp>(x, ArrayRef<int64_t>(*axis), true);
  if (!best)
    return failure();
  auto type = RankedTensorType::get(shapeOf(x), ir::elementType(best));
  Value index = ir::IotaOp::create(n.b, n.loc, type, *axis);
  Value hit = n.make<ir::CompareOp>(ir::Predicate::eq, index, best);
  return n.result(n.cast(hit, ir::elementType(x)));
}

} // namespace

void addNormRows(Rows &rows) {
  rows["BatchNormalization"] = batchNorm;
  rows["LayerNormalization"] = layerNorm;
  rows["RMSNormalization"] = rmsNorm;
  rows["Softmax"] = softmax<ir::SoftmaxOp>;
  rows["LogSoftmax"] = softmax<ir::LogSoftmaxOp>;
  rows["Hardmax"] = hardmax;
}

} // namespace dlc::import
