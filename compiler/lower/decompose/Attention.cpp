// SPDX-License-Identifier: Apache-2.0
// Attention as products and softmax, with materialised scores. Products are in
// the operands' type, everything else in f32 or wider.
#include "compiler/lower/decompose/Decompositions.h"
#include "compiler/lower/decompose/Rows.h"

#include <cmath>

using namespace mlir;

namespace dlc::ir {
namespace {

template <class OpTy> struct Attention {
  explicit Attention(Decomposition<OpTy> &d)
      : d(d), swapped(d.op.getLayout() == "bthd") {}

  /// A value as [B, H, T, D], or back in the op's layout.
  Expr heads(Expr x) const { return swapped ? transposed(x, {0, 2, 1, 3}) : x; }
  Expr heads(Value v) const { return heads(d.expr(v)); }

  /// Scores with the mask, -inf where a query does not attend to a key.
  Expr scores() const {
    Expr q = heads(d.op.getQ()), k = heads(d.op.getK());
    Expr s =
        wide(matmul(q, k, false, true)) * d.op.getScale().convertToDouble();
    Expr unseen = s.scalar(-INFINITY);
    if (d.op.getCausal()) {
      Type i32 = IntegerType::get(s.type().getContext(), 32);
      const Ints pairs = s.shape().take_back(2);
      s = select(iota(s, pairs, 0, i32) >= iota(s, pairs, 1, i32), s, unseen);
    }
    if (Value mask = d.op.getMask()) {
      Expr m = d.expr(mask);
      s = m.element().isInteger(1) ? select(m, s, unseen)
                                   : s + m.cast(s.element());
    }
    return s;
  }

  /// Converts to the operands' type, as a factor of a product.
  Expr narrow(Expr x) const { return x.cast(elementType(d.op.getQ())); }

  Decomposition<OpTy> &d;
  const bool swapped;
};

const SmallVector<int64_t> kKeys{3};

/// Only with a mask can all keys be masked for a query; its scores are then set
/// to 0, so that neither the result nor the gradient is NaN.
auto attention(Decomposition<AttentionOp> &d) {
  Attention a(d);
  Expr s = a.scores();
  Expr blind = s.max(kKeys, true) == -INFINITY;
  if (d.op.getMask())
    s = select(blind, 0, s);
  Expr p = s.make<SoftmaxOp>(s.v, int64_t(3)), max = s.max(kKeys, true);
  Expr lse = max + log(exp(s - max).sum(kKeys, true));
  if (d.op.getMask()) {
    p = select(blind, 0, p);
    lse = select(blind, INFINITY, lse);
  }
  Expr y = matmul(a.narrow(p), a.heads(d.op.getV()));
  return d.results({a.heads(y), lse});
}

auto attentionBackward(Decomposition<AttentionBackwardOp> &d) {
  Attention a(d);
  Expr q = a.heads(d.op.getQ()), k = a.heads(d.op.getK()),
       v = a.heads(d.op.getV()), dy = a.heads(d.op.getDy());
  Expr p = exp(a.scores() - d(d.op.getLse()));
  Expr delta = (wide(dy) * wide(a.heads(d.op.getY()))).sum(kKeys, true);
  Expr dp = wide(matmul(dy, v, false, true));
  Expr ds = a.narrow(p * (dp - delta) * d.op.getScale().convertToDouble());
  return d.results({a.heads(matmul(ds, k)), a.heads(matmul(ds, q, true)),
                    a.heads(matmul(a.narrow(p), dy, true))});
}

} // namespace
} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachAttentionDecompositions(MLIRContext &c) {
  decomposition<AttentionOp>(c, [](auto &d) { return attention(d); });
  decomposition<AttentionBackwardOp>(
      c, [](auto &d) { return attentionBackward(d); });
}
