// SPDX-License-Identifier: Apache-2.0
// all_finite and global_norm where no library has them: a number of each
// operand, then one of all these.
#include "compiler/lower/decompose/Decompositions.h"
#include "compiler/lower/decompose/Rows.h"

using namespace mlir;

namespace dlc::ir {
namespace {

/// Sum or maximum of all elements, of rank 0.
template <class OpTy> Expr reduceAll(Expr x) {
  return x.make<OpTy>(x.v, axesBetween(0, x.rank()), /*keepdims=*/false);
}

/// combine(of(x0), combine(of(x1), ...)).
template <class Rule, class Combine>
Expr join(ValueRange values, Rule of, Combine combine) {
  Expr all = of(values.front());
  for (Value v : values.drop_front())
    all = combine(all, of(v));
  return all;
}

auto allFinite(Decomposition<AllFiniteOp> &d) {
  auto hasOther = [&](Value v) {
    Expr x = d.expr(v), finite = x.make<IsFiniteOp>(x.v);
    Expr zero = x.scalar(0).cast(d.builder.getF32Type());
    return reduceAll<ReduceMaxOp>(select(finite, zero, zero.scalar(1)));
  };
  auto larger = [](Expr a, Expr b) { return a.make<MaxOp>(a.v, b.v); };
  Expr worst = join(d.op.getXs(), hasOther, larger);
  return d.results({compare(Predicate::eq, worst, worst.scalar(0))});
}

/// In f64, where the square of an f32 is exact and does not overflow.
auto globalNorm(Decomposition<GlobalNormOp> &d) {
  auto squares = [&](Value v) {
    Expr x = d.expr(v).cast(d.builder.getF64Type());
    if (auto limit = d.op.getLimit()) {
      const double most = limit->convertToDouble();
      Expr below = x.make<MinOp>(x.v, x.scalar(most).v);
      x = below.make<MaxOp>(below.v, below.scalar(-most).v);
    }
    return reduceAll<ReduceSumOp>(x * x);
  };
  auto plus = [](Expr a, Expr b) { return a + b; };
  return d.results({sqrt(join(d.op.getXs(), squares, plus))});
}

} // namespace
} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachFlatDecompositions(MLIRContext &c) {
  decomposition<AllFiniteOp>(c, [](auto &d) { return allFinite(d); });
  decomposition<GlobalNormOp>(c, [](auto &d) { return globalNorm(d); });
}
