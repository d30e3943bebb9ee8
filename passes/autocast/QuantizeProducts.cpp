// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit floats, after autodiff, so that the gradient's products are
// among them. A tensor is multiplied by a scale that maps the largest magnitude
// to the format's largest value, then rounded once for all products that read
// it. The magnitude is the tensor's own ("current scaling"), or that of earlier
// steps ("delayed"), whose scales are known before the tensor is computed.
#include "compiler/dialect/Expr.h"
#include "compiler/dialect/float8/Float8.h"
#include "compiler/dialect/ops/Matrices.h"
#include "passes/Passes.h"
#include "passes/Step.h"
#include "passes/autocast/FloatProducts.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>

using namespace mlir;
using dlc::ir::Expr;
using dlc::ir::tensorType;

namespace dlc {
#define GEN_PASS_DEF_QUANTIZEPRODUCTS
#include "passes/Passes.h.inc"

namespace {

/// The largest scale: its inverse is a normal number.
constexpr double kLargestScale = 0x1p126;

double largestOf(Attribute format) {
  return ir::float8Format(cast<StringAttr>(format))->largest;
}

/// `largest` / `amax`, in any shape; 1 where `amax` is 0 or not finite.
Expr scaleOf(Expr amax, Expr largest, double margin) {
  Expr isUsable = ir::both(amax > 0, amax.make<ir::IsFiniteOp>(amax.v));
  Expr scale = largest / amax;
  if (margin != 0)
    scale = scale * std::exp2(-margin);
  return ir::select(isUsable, ir::minimum(scale, scale.scalar(kLargestScale)),
                    scale.scalar(1));
}

/// A tensor of 8-bit floats.
struct Quantized {
  Value amax, scale, inverse; // f32 scalars
  Value codes;
};

class Quantizer {
public:
  Quantizer(func::FuncOp f, const AmpOptions &amp)
      : f(f), amp(amp), builder(f.getContext()) {}

  LogicalResult run() {
    SmallVector<ir::MatmulOp> products;
    for (auto op : f.getOps<ir::MatmulOp>())
      if (op->hasAttr(kFloat8))
        products.push_back(op);
    for (ir::MatmulOp op : products)
      for (unsigned i : {0, 1})
        tensors[keyOf(op, i)];
    if (products.empty())
      return success();
    if (amp.delaysScales() && failed(readScales()))
      return failure();
    for (auto &[key, tensor] : tensors)
      quantize(key.first, key.second, tensor);
    for (ir::MatmulOp op : products)
      replace(op);
    if (amp.delaysScales())
      writeAmaxes();
    return success();
  }

private:
  using Key = std::pair<Value, Attribute>; // a tensor and its format

  /// The tensor that an operand is a view of, so that a layer's input is
  /// quantized once for the layer and its gradient.
  static Key keyOf(ir::MatmulOp op, unsigned operand) {
    return {ir::viewedBy(op->getOperand(operand)),
            op->getAttrOfType<ArrayAttr>(kFloat8)[operand]};
  }

  void quantize(Value v, Attribute format, Quantized &tensor) {
    builder.setInsertionPointAfterValue(v);
    Expr x = Expr(builder, v.getLoc(), v).cast(builder.getF32Type());
    Expr amax = ir::abs(x).max(ir::axesBetween(0, x.rank()));
    tensor.amax = amax;
    if (!tensor.scale) {
      Expr scale = scaleOf(amax, amax.scalar(largestOf(format)), 0);
      tensor.scale = scale;
      tensor.inverse = 1.0 / scale;
    }
    Expr scaled = x * Expr(builder, x.loc, tensor.scale);
    tensor.codes =
        scaled.make<ir::Float8EncodeOp>(scaled.v, cast<StringAttr>(format));
  }

  void replace(ir::MatmulOp op) {
    const Key keyA = keyOf(op, 0), keyB = keyOf(op, 1);
    const Quantized &a = tensors[keyA], &b = tensors[keyB];
    builder.setInsertionPoint(op);
    Expr left = Expr(builder, op.getLoc(), a.codes)
                    .reshape(tensorType(op.getA()).getShape());
    Expr right = Expr(builder, op.getLoc(), b.codes)
                     .reshape(tensorType(op.getB()).getShape());
    left = op.getTransA() ? ir::transposed(left, {1, 0}) : rows(left);
    right = op.getTransB() ? right : ir::transposed(right, {1, 0});
    const auto type = tensorType(op.getY());
    Expr y = left.make<ir::ScaledMatmulOp>(
        type.clone({left.shape()[0], right.shape()[0]}), left.v, right.v,
        a.inverse, b.inverse, op.getBias(), cast<StringAttr>(keyA.second),
        cast<StringAttr>(keyB.second));
    op.replaceAllUsesWith(y.reshape(type.getShape()).v);
    op.erase();
  }

  /// Scales of all tensors from the state's rows.
  LogicalResult readScales() {
    Step step(f);
    const int64_t n = static_cast<int64_t>(tensors.size());
    builder.setInsertionPointToStart(&f.front());
    auto type =
        RankedTensorType::get({n, amp.float8History}, builder.getF32Type());
    if (!step.addState(kAmax, type, ir::Role::scaler,
                       builder.getF32FloatAttr(0)))
      return failure();
    Expr history(builder, f.getLoc(),
                 ir::ReadOp::create(builder, f.getLoc(), type, kAmax));
    SmallVector<float> largest;
    for (auto &[key, tensor] : tensors)
      largest.push_back(float(largestOf(key.second)));
    auto each = RankedTensorType::get({n}, builder.getF32Type());
    Expr limits = history.make<ir::ConstantOp>(
        each, DenseElementsAttr::get(each, ArrayRef<float>(largest)));
    Expr scales = scaleOf(history.max({1}), limits, amp.float8Margin);
    Expr inverses = 1.0 / scales;
    int64_t i = 0;
    for (auto &[key, tensor] : tensors) {
      tensor.scale = elementOf(scales, i);
      tensor.inverse = elementOf(inverses, i++);
    }
    return success();
  }
  static Expr elementOf(Expr x, int64_t i) { return ir::sliceOf(x, 0, i); }

  void writeAmaxes() {
    builder.setInsertionPoint(f.front().getTerminator());
    SmallVector<Expr> all;
    for (auto &[key, tensor] : tensors)
      all.push_back(Expr(builder, f.getLoc(), tensor.amax).reshape({1, 1}));
    Expr amax = ir::joined(all, 0);
    amax = ir::select(amax.make<ir::IsFiniteOp>(amax.v), amax, amax.scalar(0));
    const int64_t n = amax.shape()[0], kept = amp.float8History - 1;
    if (kept > 0) {
      Expr history = amax.make<ir::ReadOp>(
          amax.type().clone({n, amp.float8History}), kAmax);
      amax = ir::joined({amax, ir::part(history, 1, 0, kept)}, 1);
    }
    ir::WriteOp::create(builder, f.getLoc(), kAmax, amax.v);
  }

  func::FuncOp f;
  const AmpOptions &amp;
  OpBuilder builder;
  llvm::MapVector<Key, Quantized> tensors;
};

struct QuantizeProducts : impl::QuantizeProductsBase<QuantizeProducts> {
  QuantizeProducts() {
    options.amp.level = "O1";
    options.amp.dtype = "fp8";
    reads<&StepOptions::amp>();
  }

  void runOnOperation() final {
    for (auto f : getOperation().getOps<func::FuncOp>())
      if (failed(Quantizer(f, options.amp).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace dlc
