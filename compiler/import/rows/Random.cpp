// SPDX-License-Identifier: Apache-2.0
// Dropout and random tensors.
#include "compiler/import/rows/Build.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace {

Expr dropped(const Node &n, Expr x, double ratio) {
  return x.make<ir::DropoutOp>(x.v, llvm::APFloat(ratio), ArrayRef<int64_t>(),
                               n.proto.output(0));
}

/// x times the dropout of ones, from which the mask is computed.
LogicalResult dropoutWithMask(const Node &n, Expr x, double ratio) {
  Expr ones = filled(n, shapeOf(x), x.element(), 1);
  Expr factor = dropped(n, ones, ratio);
  DLC_CHECK(n.result(1, factor != 0));
  return n.result(x * factor);
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
  DLC_GET(auto x, input(n, 0));
  if (training && ratio > 0)
    return n.uses(1) ? dropoutWithMask(n, x, ratio)
                     : n.result(dropped(n, x, ratio));
  if (n.uses(1))
    DLC_CHECK(n.result(1, filled(n, shapeOf(x), n.b.getI1Type(), 1)));
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

/// Uniform or normal numbers in f32.
Expr numbers(const Node &n, const Shape &shape, bool normal) {
  auto type = RankedTensorType::get(shape, n.b.getF32Type());
  return n.expr(
      ir::NoiseOp::create(n.b, n.loc, type, normal, n.proto.output(0)));
}

/// scale * number + offset
LogicalResult noise(const Node &n, const Shape &shape, Type like, bool normal,
                    double scale, double offset) {
  DLC_GET(auto element, elementOf(n, like));
  if (!llvm::isa<FloatType>(element))
    return n.fail("expected a float type of random numbers, found {}", element);
  DLC_CHECK(n.check(countElements(shape, "the result").status()));
  Expr x = numbers(n, shape, normal);
  x = scale == 1 ? x : x * scale;
  return n.result((offset == 0 ? x : x + offset).cast(element));
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
LogicalResult bernoulli(const Node &n, Expr p) {
  DLC_GET(auto element, elementOf(n, p.element()));
  Expr hit = numbers(n, shapeOf(p), false) < p.cast(n.b.getF32Type());
  return n.result(hit.cast(element));
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
  n.table.define(name, dropped(n, n.expr(x), **ratio));
  return success();
}

void addRandomRows(Rows &rows) {
  rows["Dropout"] = dropout;
  rows["RandomUniformLike"] = like<uniform>;
  rows["RandomNormalLike"] = like<normal>;
  rows["RandomUniform"] = shaped<uniform>;
  rows["RandomNormal"] = shaped<normal>;
  rows["Bernoulli"] = ofInputs<bernoulli>;
}

} // namespace dlc::import
