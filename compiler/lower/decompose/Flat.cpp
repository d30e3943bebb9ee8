// SPDX-License-Identifier: Apache-2.0
// all_finite and global_norm without a library: one number per operand, then
// one for all of them.
#include "compiler/lower/FlatSums.h"
#include "compiler/lower/decompose/Decompositions.h"
#include "compiler/lower/decompose/Rows.h"

using namespace mlir;

namespace dlc::ir {
namespace {

/// Sum or maximum of all elements, as a scalar.
template <class OpTy> Expr reduceAll(Expr x) {
  return x.make<OpTy>(x.v, axesBetween(0, x.rank()), /*keepdims=*/false);
}

/// combine(of(x0), combine(of(x1), ...)).
template <class Rule>
Expr join(ValueRange values, Rule of, Expr (*combine)(Expr, Expr)) {
  Expr all = of(values.front());
  for (Value v : values.drop_front())
    all = combine(all, of(v));
  return all;
}

auto allFinite(Decomposition<AllFiniteOp> &d) {
  auto hasOther = [&](Value v) {
    return reduceAll<ReduceMaxOp>(countsAsOther(d.expr(v)));
  };
  return d.results({isNone(join(d.op.getXs(), hasOther, maximum))});
}

auto globalNorm(Decomposition<GlobalNormOp> &d) {
  std::optional<double> limit;
  if (auto given = d.op.getLimit())
    limit = given->convertToDouble();
  auto squares = [&](Value v) {
    return reduceAll<ReduceSumOp>(squareOf(d.expr(v), limit));
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
