// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit floats for devices whose library has none: their values are
// exact in bf16, and so are the products of two values in f32. A transposed
// operand is a flag of the product, so that no transposed copy is stored.
#include "compiler/dialect/float8/Float8.h"
#include "compiler/lower/decompose/Decompositions.h"
#include "compiler/lower/decompose/Rows.h"

using namespace mlir;

namespace dlc::ir {
namespace {

/// The values of codes, and whether they are stored transposed.
std::pair<Expr, bool> valuesOf(Expr codes, StringAttr format) {
  auto transpose = codes.v.getDefiningOp<TransposeOp>();
  if (transpose)
    codes.v = transpose.getX();
  Expr values = codes.make<Float8DecodeOp>(codes.v, format);
  return {values.cast(codes.b->getBF16Type()), bool(transpose)};
}

auto scaledMatmul(Decomposition<ScaledMatmulOp> &d) {
  ScaledMatmulOp op = d.op;
  auto [a, transA] = valuesOf(d.expr(op.getA()), op.getFormatAAttr());
  auto [b, transB] = valuesOf(d.expr(op.getB()), op.getFormatBAttr());
  const Type f32 = Float32Type::get(op.getContext());
  Expr y = a.make<MatmulOp>(tensorType(op.getY()).clone(f32), a.v, b.v, Value(),
                            transA, !transB, StringAttr());
  y = y * d.expr(op.getScaleA()) * d.expr(op.getScaleB());
  if (op.getBias())
    y = y + d.expr(op.getBias()).cast(f32);
  return d.results({y.cast(elementType(op.getY()))});
}

} // namespace
} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachFloat8Decompositions(MLIRContext &c) {
  decomposition<ScaledMatmulOp>(c, [](auto &d) { return scaledMatmul(d); });
}
