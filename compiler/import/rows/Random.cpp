// SPDX-License-Identifier: Apache-2.0
// Dropout and random tensors.
#include "compiler/import/rows/Rows.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace {

/// x times the dropout of ones, from which the mask is computed.
LogicalResult dropoutWithMask(const Node &n, Value x, double ratio) {
  if (!x)
    return failure();
  Value ones = n.broadcast(n.constant(1, x), shapeOf(x));
  Value factor = n.make<ir::DropoutOp>(
      ones, llvm::APFloat(ratio), llvm::ArrayRef<int64_t>(), n.proto.output(0));
  Value kept =
      n.make<ir::CompareOp>(ir::Predicate::ne, factor, n.constant(0, factor));
  DLC_CHECK(n.result(1, kept));
  return n.result(n.make<ir::MulOp>(x, factor));
}

/// The training form is a dlc op, the inference form the identity.
LogicalResult dropout(const Node &n) {
  DLC_GET(auto ratio, n.numberOr(1, "ratio", 0.5));
  DLC_GET(bool training, n.numberOr(2, "training_mode", 0));
  if (!(ratio >= 0 && ratio <= 1))
    return n.fail("expected a ratio from 0 to 1, found {}", ratio);
  if (const auto *asked = n.table.dropout(n.proto.output(0))) {
    training = true;
    ratio = asked->value_or(ratio);
  }
  Value x = n.in(0);
  if (training && ratio > 0) {
    if (n.uses(1))
      return dropoutWithMask(n, x, ratio);
    return n.result(n.make<ir::DropoutOp>(
        x, llvm::APFloat(ratio), llvm::ArrayRef<int64_t>(), n.proto.output(0)));
  }
  if (x && n.uses(1)) {
    Value kept = n.constant(HostTensor::scalar(DType::Bool, 1));
    DLC_CHECK(n.result(1, n.broadcast(kept, shapeOf(x))));
  }
  return n.result(x);
}

/// The type in the attribute `dtype`, or `like`.
FailureOr<Type> elementOf(const Node &n, Type like) {
  if (!n.has("dtype"))
    return like;
  int64_t number = n.integer("dtype", 0);
  if (auto type = import::toDType(int(number)))
    return toMlir(*type, n.b.getContext());
  return n.fail("type {} is not supported", onnxTypeName(int(number)));
}

/// scale * number + offset, with uniform or normal numbers in f32.
LogicalResult noise(const Node &n, const Shape &shape, Type like, bool normal,
                    double scale, double offset) {
  DLC_GET(auto element, elementOf(n, like));
  if (!llvm::isa<FloatType>(element))
    return n.fail("expected a float type of random numbers, found {}", element);
  DLC_CHECK(n.check(countElements(shape, "the result").status()));
  auto type = RankedTensorType::get(shape, n.b.getF32Type());
  Value x = ir::NoiseOp::create(n.b, n.loc, type, normal, n.proto.output(0));
  if (scale != 1)
    x = n.make<ir::MulOp>(x, n.constant(scale, x));
  if (offset != 0)
    x = n.make<ir::AddOp>(x, n.constant(offset, x));
  return n.result(n.cast(x, element));
}

LogicalResult uniform(const Node &n, const Shape &shape, Type like) {
  double low = n.number("low", 0), high = n.number("high", 1);
  return noise(n, shape, like, /*normal=*/false, high - low, low);
}
LogicalResult normal(const Node &n, const Shape &shape, Type like) {
  return noise(n, shape, like, /*normal=*/true, n.number("scale", 1),
               n.number("mean", 0));
}

using Maker = LogicalResult (*)(const Node &, const Shape &, Type);
template <Maker make> LogicalResult like(const Node &n) {
  auto type = n.type(0);
  if (!type)
    return n.fail("input 0 is missing");
  return make(n, n.shape(0), type.getElementType());
}
template <Maker make> LogicalResult shaped(const Node &n) {
  return make(n, n.integers("shape"), n.b.getF32Type());
}

/// 1 if a uniform number is below the probability.
LogicalResult bernoulli(const Node &n) {
  DLC_GET(Value p, n.in(0));
  auto type = RankedTensorType::get(shapeOf(p), n.b.getF32Type());
  Value u = ir::NoiseOp::create(n.b, n.loc, type, false, n.proto.output(0));
  Value hit =
      n.make<ir::CompareOp>(ir::Predicate::lt, u, n.cast(p, n.b.getF32Type()));
  auto element = elementOf(n, ir::elementType(p));
  return failed(element) ? failure() : n.result(n.cast(hit, *element));
}

} // namespace

LogicalResult dropOut(const Node &n) {
  if (!n.outputs() || n.proto.op_type() == "Dropout")
    return success();
  const std::string &name = n.proto.output(0);
  const auto *ratio = n.table.dropout(name);
  if (!ratio || !n.table.isUsed(name))
    return success();
  Value x = n.table.host(name) ? Value() : n.table.value(name, n.loc);
  if (!x || !llvm::isa<FloatType>(ir::elementType(x)))
    return n.fail("--dropout: expected a result of floats that depends on the "
                  "model's data");
  n.table.define(name, n.make<ir::DropoutOp>(x, llvm::APFloat(**ratio),
                                             llvm::ArrayRef<int64_t>(), name));
  return success();
}

void addRandomRows(Rows &rows) {
  rows["Dropout"] = dropout;
  rows["RandomUniformLike"] = like<uniform>;
  rows["RandomNormalLike"] = like<normal>;
  rows["RandomUniform"] = shaped<uniform>;
  rows["RandomNormal"] = shaped<normal>;
  rows["Bernoulli"] = bernoulli;
}

} // namespace dlc::import
