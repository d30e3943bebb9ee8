// SPDX-License-Identifier: Apache-2.0
// Tensor expressions: operators that build dlc ops, used by gradients,
// decompositions and training passes.
//   Expr x(b, loc, value);  Value y = exp(x - max) * 2.0;
#pragma once

#include "compiler/dialect/Dlc.h"

namespace dlc::ir {

/// The attribute of a rounding whose gradient is 1 (straight-through
/// estimator), as in quantisation-aware training; others have no gradient.
constexpr llvm::StringLiteral kStraightThrough = "dlc.straight_through";

/// A value and the insertion point of further ops. Operands of a binary
/// operator must have the same element type; shapes broadcast. Copies are
/// cheap; the builder is not owned.
class Expr {
public:
  Expr(mlir::OpBuilder &b, mlir::Location loc, mlir::Value v)
      : b(&b), loc(loc), v(v) {}
  operator mlir::Value() const { return v; }
  mlir::RankedTensorType type() const { return tensorType(v); }
  Ints shape() const { return type().getShape(); }
  int64_t rank() const { return type().getRank(); }
  mlir::Type element() const { return type().getElementType(); }

  template <class OpTy, class... Args> Expr make(Args &&...args) const {
    return Expr(
        *b, loc,
        OpTy::create(*b, loc, std::forward<Args>(args)...)->getResult(0));
  }
  /// A rank-0 constant of this value's element type.
  Expr scalar(double c) const {
    return make<ConstantOp>(c, mlir::RankedTensorType::get({}, element()));
  }
  Expr cast(mlir::Type element) const {
    if (this->element() == element)
      return *this;
    return make<CastOp>(type().clone(element), v);
  }
  Expr reshape(Ints shape) const {
    if (this->shape() == shape)
      return *this;
    return make<ReshapeOp>(type().clone(shape), v);
  }
  Expr broadcast(Ints shape) const {
    if (this->shape() == shape)
      return *this;
    return make<BroadcastOp>(type().clone(shape), v);
  }
  Expr sum(Ints axes, bool keepdims = false) const {
    return make<ReduceSumOp>(v, axes, keepdims);
  }
  Expr mean(Ints axes, bool keepdims = false) const {
    return make<ReduceMeanOp>(v, axes, keepdims);
  }
  Expr max(Ints axes, bool keepdims = false) const {
    return make<ReduceMaxOp>(v, axes, keepdims);
  }
  Expr min(Ints axes, bool keepdims = false) const {
    return make<ReduceMinOp>(v, axes, keepdims);
  }

  mlir::OpBuilder *b;
  mlir::Location loc;
  mlir::Value v;
};

inline Expr operator+(Expr a, Expr b) { return a.make<AddOp>(a.v, b.v); }
inline Expr operator-(Expr a, Expr b) { return a.make<SubOp>(a.v, b.v); }
inline Expr operator*(Expr a, Expr b) { return a.make<MulOp>(a.v, b.v); }
inline Expr operator/(Expr a, Expr b) { return a.make<DivOp>(a.v, b.v); }
inline Expr operator+(Expr a, double c) { return a + a.scalar(c); }
inline Expr operator-(Expr a, double c) { return a - a.scalar(c); }
inline Expr operator*(Expr a, double c) { return a * a.scalar(c); }
inline Expr operator/(Expr a, double c) { return a / a.scalar(c); }
inline Expr operator+(double c, Expr a) { return a.scalar(c) + a; }
inline Expr operator-(double c, Expr a) { return a.scalar(c) - a; }
inline Expr operator*(double c, Expr a) { return a.scalar(c) * a; }
inline Expr operator/(double c, Expr a) { return a.scalar(c) / a; }
inline Expr operator-(Expr a) { return a.make<NegOp>(a.v); }

#define DLC_UNARY(NAME, OP)                                                    \
  inline Expr NAME(Expr a) { return a.make<OP>(a.v); }
DLC_UNARY(exp, ExpOp)
DLC_UNARY(log, LogOp)
DLC_UNARY(sqrt, SqrtOp)
DLC_UNARY(rsqrt, RsqrtOp)
DLC_UNARY(tanh, TanhOp)
DLC_UNARY(sigmoid, SigmoidOp)
DLC_UNARY(abs, AbsOp)
DLC_UNARY(sign, SignOp)
DLC_UNARY(sin, SinOp)
DLC_UNARY(cos, CosOp)
DLC_UNARY(erf, ErfOp)
DLC_UNARY(floor, FloorOp)
DLC_UNARY(round, RoundOp)
DLC_UNARY(operator!, NotOp)
#undef DLC_UNARY
/// A B, A' B, A B' or A' B' of the last two dimensions.
inline Expr matmul(Expr a, Expr b, bool transA = false, bool transB = false) {
  return a.make<MatmulOp>(a.v, b.v, mlir::Value(), transA, transB,
                          mlir::StringAttr());
}
inline Expr pow(Expr a, Expr b) { return a.make<PowOp>(a.v, b.v); }
inline Expr maximum(Expr a, Expr b) { return a.make<MaxOp>(a.v, b.v); }
inline Expr maximum(Expr a, double c) { return maximum(a, a.scalar(c)); }
inline Expr minimum(Expr a, Expr b) { return a.make<MinOp>(a.v, b.v); }
inline Expr minimum(Expr a, double c) { return minimum(a, a.scalar(c)); }
inline Expr both(Expr a, Expr b) { return a.make<AndOp>(a.v, b.v); }
inline Expr either(Expr a, Expr b) { return a.make<OrOp>(a.v, b.v); }
inline Expr compare(Predicate p, Expr a, Expr b) {
  return a.make<CompareOp>(p, a.v, b.v);
}
/// Comparisons are elementwise: their result is a tensor of booleans.
#define DLC_COMPARISON(SIGN, PREDICATE)                                        \
  inline Expr operator SIGN(Expr a, Expr b) {                                  \
    return compare(Predicate::PREDICATE, a, b);                                \
  }                                                                            \
  inline Expr operator SIGN(Expr a, double c) { return a SIGN a.scalar(c); }
DLC_COMPARISON(==, eq)
DLC_COMPARISON(!=, ne)
DLC_COMPARISON(<, lt)
DLC_COMPARISON(<=, le)
DLC_COMPARISON(>, gt)
DLC_COMPARISON(>=, ge)
#undef DLC_COMPARISON
inline Expr select(Expr c, Expr a, Expr b) {
  return a.make<SelectOp>(c.v, a.v, b.v);
}
inline Expr select(Expr c, Expr a, double b) {
  return select(c, a, a.scalar(b));
}
inline Expr select(Expr c, double a, Expr b) {
  return select(c, b.scalar(a), b);
}

/// f32 for 16-bit floats, otherwise the type itself: that in which formulas
/// with several roundings are computed.
inline mlir::Type wideType(mlir::Type t) {
  return isHalf(t) ? mlir::Float32Type::get(t.getContext()) : t;
}
inline Expr wide(Expr x) { return x.cast(wideType(x.element())); }

/// Axes [from, to).
inline llvm::SmallVector<int64_t> axesBetween(int64_t from, int64_t to) {
  llvm::SmallVector<int64_t> axes;
  for (; from < to; ++from)
    axes.push_back(from);
  return axes;
}

// Moves of elements. One that changes nothing creates no op.

/// Indices along `axis`, as i64 by default.
Expr iota(mlir::OpBuilder &b, mlir::Location loc, Ints shape, int64_t axis,
          mlir::Type element = {});
/// The same where `at` is built.
inline Expr iota(Expr at, Ints shape, int64_t axis, mlir::Type element = {}) {
  return iota(*at.b, at.loc, shape, axis, element);
}

Expr transposed(Expr x, Ints perm);
/// Moves dimension `from` to position `to`; the others keep their order.
Expr moved(Expr x, int64_t from, int64_t to);
/// Inserts a dimension of 1 at `axis`.
Expr unsqueezed(Expr x, int64_t axis);
/// Removes the dimension of 1 at `axis`.
Expr squeezed(Expr x, int64_t axis);
/// Slices one axis: `size` elements from `start`.
Expr part(Expr x, int64_t axis, int64_t start, int64_t size, int64_t step = 1);
/// Element `i` along the axis, without that dimension.
Expr sliceOf(Expr x, int64_t axis, int64_t i);
/// Pads one axis with `value`: `low` elements before, `high` after.
Expr padded(Expr x, int64_t axis, int64_t low, int64_t high, double value = 0,
            int64_t interior = 0);
Expr joined(llvm::ArrayRef<Expr> parts, int64_t axis);
/// Joins along a new dimension.
Expr stacked(llvm::ArrayRef<Expr> parts, int64_t axis);
/// Slices of `data` along `axis`, at `indices`.
Expr gathered(Expr data, Expr indices, int64_t axis);

/// The additive form of a mask: a boolean mask becomes 0 or -inf in f32.
Expr addedMask(Expr mask);

/// Sums a gradient of broadcast shape over the broadcast dimensions to `shape`.
Expr sumTo(Expr x, Ints shape);

} // namespace dlc::ir
