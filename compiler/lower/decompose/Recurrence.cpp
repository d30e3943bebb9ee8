// SPDX-License-Identifier: Apache-2.0
// Recurrent layers step by step: the product of state and weights, then
// elementwise work. Steps read and write slices of tensors of all steps in
// place, so equal steps share one kernel and nothing is copied. Products are in
// the operands' type, everything else in f32 or wider.
#include "compiler/dialect/ops/Recurrence.h"
#include "compiler/dialect/ops/Matrices.h"
#include "compiler/lower/decompose/Decompositions.h"
#include "compiler/lower/decompose/Rows.h"
#include "compiler/lower/decompose/Steps.h"

using namespace mlir;

namespace dlc::ir {
namespace {

bool isZero(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      auto dense = dyn_cast<DenseFPElementsAttr>(constant.getValue());
      return dense && dense.isSplat() &&
             dense.getSplatValue<APFloat>().isPosZero();
    }
    if (!isa<BroadcastOp, ReshapeOp, SliceOp, CastOp>(op))
      return false;
    v = op->getOperand(0);
  }
  return false;
}

/// Column block k of a matrix with `of` column blocks.
Expr columnBlock(Expr x, int64_t k, int64_t of) {
  const int64_t width = x.shape()[1] / of;
  return part(x, 1, k * width, width);
}

/// Adds two values, each of which may be missing.
std::optional<Expr> plus(std::optional<Expr> a, std::optional<Expr> b) {
  return a && b ? *a + *b : a ? a : b;
}

/// What the decompositions of one layer share. Tensors of all steps are
/// matrices of T B rows.
template <class OpTy> class Unrolled {
public:
  Unrolled(Decomposition<OpTy> &d, Value sequence)
      : d(d), steps(tensorType(sequence).getDimSize(0)),
        batch(tensorType(sequence).getDimSize(1)),
        units(tensorType(d.op.getR()).getDimSize(1)), r(d.expr(d.op.getR())) {
    if (!d.op.getValid())
      return;
    Expr mask = d.expr(d.op.getValid());
    valid = mask.reshape({steps * batch, 1}).broadcast({steps * batch, units});
  }

  /// Calls f(t) in the order of the layer's steps, or in reverse.
  template <class F> void forEachStep(bool back, F f) {
    for (int64_t i = 0; i < steps; ++i)
      f(bool(d.op.getReverse()) != back ? steps - 1 - i : i);
  }
  /// The step before t; nullopt for the first.
  std::optional<int64_t> stepBefore(int64_t t) {
    const int64_t last = d.op.getReverse() ? t + 1 : t - 1;
    return last < 0 || last >= steps ? std::nullopt : std::optional(last);
  }
  /// Step t of a tensor of all steps, the k-th of several.
  Expr at(Expr rows, int64_t t, int64_t k = 0) {
    return stepRows(rows, (k * steps + t) * batch, batch);
  }
  /// The same in f32; nullopt if it is known to be zero.
  std::optional<Expr> known(Value all, int64_t t) {
    return isZero(all) ? std::nullopt
                       : std::optional(wide(at(rows(d.expr(all)), t)));
  }
  /// The state before step t, from those of all steps; nullopt for zeros.
  std::optional<Expr> before(Value states, Value first, int64_t t) {
    if (auto last = stepBefore(t))
      return at(rows(d.expr(states)), *last);
    return isZero(first) ? std::nullopt : std::optional(d.expr(first));
  }
  /// `now` if step t is valid, else the previous value.
  Expr keep(int64_t t, Expr now, std::optional<Expr> was) {
    return !valid ? now
                  : select(at(*valid, t), now,
                           was ? *was : now.scalar(0).broadcast(now.shape()));
  }
  Expr narrow(Expr x) { return x.cast(elementType(d.op.getR())); }
  std::optional<Expr> timesR(std::optional<Expr> state) {
    return state ? std::optional(wide(matmul(*state, r, false, true)))
                 : std::nullopt;
  }

  Decomposition<OpTy> &d;
  const int64_t steps, batch, units;
  Expr r;
  std::optional<Expr> valid;
};

/// An initial state of zeros is omitted.
std::optional<Expr> initialState(Expr v) {
  return isZero(v) ? std::nullopt : std::optional(v);
}

auto lstm(Decomposition<LstmOp> &d) {
  LstmOp op = d.op;
  Unrolled u(d, op.getX());
  Expr x = rows(d.expr(op.getX()));
  Type element = elementType(op.getX());
  std::optional<Expr> h = initialState(d.expr(op.getH0())),
                      c = initialState(d(op.getC0()));
  std::vector<Expr> hs(u.steps, x), cs = hs, gates(4 * u.steps, x);
  u.forEachStep(false, [&](int64_t t) {
    Expr now = u.at(x, t);
    auto product = u.timesR(h);
    auto gate = [&](int64_t k) {
      Expr a = wide(columnBlock(now, k, 4));
      if (product)
        a = a + columnBlock(*product, k, 4);
      Expr g = k == 3 ? tanh(a) : sigmoid(a);
      gates[k * u.steps + t] = g.cast(element);
      return g;
    };
    Expr i = gate(0), o = gate(1), f = gate(2), g = gate(3);
    Expr next = c ? f * *c + i * g : i * g;
    Expr out = (o * tanh(next)).cast(element);
    h = hs[t] = u.keep(t, out, h);
    c = cs[t] = u.keep(t, next, c);
  });
  return d.results({stackRows(hs), stackRows(cs), stackRows(gates)});
}

auto lstmBackward(Decomposition<LstmBackwardOp> &d) {
  LstmBackwardOp op = d.op;
  Unrolled u(d, op.getDh());
  Expr gates = rows(d.expr(op.getGates())), cs = rows(d.expr(op.getC()));
  std::optional<Expr> dh, dc;
  std::vector<Expr> dx(u.steps, gates);
  u.forEachStep(true, [&](int64_t t) {
    auto gate = [&](int64_t k) { return wide(u.at(gates, t, k)); };
    Expr i = gate(0), o = gate(1), f = gate(2), g = gate(3),
         y = tanh(wide(u.at(cs, t)));
    Expr nothing = i.scalar(0).broadcast(i.shape());
    Expr dy = plus(u.known(op.getDh(), t), dh).value_or(nothing);
    auto direct = plus(u.known(op.getDc(), t), dc);
    Expr dState = *plus(direct, dy * o * (1.0 - y * y));
    auto was = u.before(op.getC(), op.getC0(), t);
    Expr df = was ? dState * wide(*was) * f * (1.0 - f) : nothing;
    Expr parts[] = {dState * g * i * (1.0 - i), dy * y * o * (1.0 - o), df,
                    dState * i * (1.0 - g * g)};
    for (Expr &part : parts)
      part = u.narrow(u.keep(t, part, std::nullopt));
    dx[t] = joined(parts, 1);
    dc = u.keep(t, dState * f, direct.value_or(nothing));
    Expr through = wide(matmul(dx[t], u.r));
    dh = u.valid ? through + u.keep(t, nothing, dy) : through;
  });
  return d.results({stackRows(dx), *dh, *dc});
}

auto gru(Decomposition<GruOp> &d) {
  GruOp op = d.op;
  Unrolled u(d, op.getX());
  const bool after = op.getResetAfter();
  Expr x = rows(d.expr(op.getX())), bias = d(op.getBias());
  Type element = elementType(op.getX());
  // Rows of r whose products use the state directly.
  Expr direct = after ? u.r : stepRows(u.r, 0, 2 * u.units),
       candidate = after ? u.r : stepRows(u.r, 2 * u.units, u.units);
  std::optional<Expr> h = initialState(d.expr(op.getH0()));
  std::vector<Expr> hs(u.steps, x), gates(4 * u.steps, x);
  u.forEachStep(false, [&](int64_t t) {
    Expr now = u.at(x, t);
    const int64_t blocks = after ? 3 : 2;
    std::optional<Expr> product;
    if (h)
      product = wide(matmul(*h, direct, false, true));
    auto input = [&](int64_t k) { return wide(columnBlock(now, k, 3)); };
    auto gate = [&](int64_t k) {
      return sigmoid(product ? input(k) + columnBlock(*product, k, blocks)
                             : input(k));
    };
    Expr z = gate(0), r = gate(1);
    Expr nothing = z.scalar(0).broadcast(z.shape());
    auto wideState = h ? std::optional(wide(*h)) : std::nullopt;
    Expr p = nothing, a = input(2);
    if (after) {
      p = product ? columnBlock(*product, 2, 3) + bias : nothing + bias;
      a = a + r * p;
    } else {
      p = wideState ? r * *wideState : nothing;
      if (h)
        a = a + wide(matmul(u.narrow(p), candidate, false, true));
      a = a + bias;
    }
    Expr n = tanh(a), next = (1.0 - z) * n;
    if (wideState)
      next = next + z * *wideState;
    h = hs[t] = u.keep(t, next.cast(element), h);
    const Expr kept[] = {z, r, n, p};
    for (int64_t k = 0; k < 4; ++k)
      gates[k * u.steps + t] = Expr(kept[k]).cast(element);
  });
  return d.results({stackRows(hs), stackRows(gates)});
}

auto gruBackward(Decomposition<GruBackwardOp> &d) {
  GruBackwardOp op = d.op;
  Unrolled u(d, op.getDh());
  const bool after = op.getResetAfter();
  Expr gates = rows(d.expr(op.getGates()));
  Expr direct = after ? u.r : stepRows(u.r, 0, 2 * u.units),
       candidate = after ? u.r : stepRows(u.r, 2 * u.units, u.units);
  std::optional<Expr> dh;
  std::vector<Expr> dx(u.steps, gates), dp = dx;
  u.forEachStep(true, [&](int64_t t) {
    auto gate = [&](int64_t k) { return wide(u.at(gates, t, k)); };
    Expr z = gate(0), r = gate(1), n = gate(2);
    Expr nothing = z.scalar(0).broadcast(z.shape());
    Expr dy = plus(u.known(op.getDh(), t), dh).value_or(nothing);
    auto was = u.before(op.getH(), op.getH0(), t);
    std::optional<Expr> state = was ? std::optional(wide(*was)) : std::nullopt;
    auto counted = [&](Expr v) { return u.narrow(u.keep(t, v, std::nullopt)); };
    Expr dn = dy * (1.0 - z) * (1.0 - n * n);
    Expr dz = counted(dy * (state ? *state - n : -n) * z * (1.0 - z));
    Expr narrowDn = counted(dn), next = dy * z, dr = nothing;
    if (after) {
      dr = dn * gate(3);
    } else {
      Expr through = wide(matmul(narrowDn, candidate));
      dr = state ? through * *state : nothing;
      next = next + through * r;
    }
    dr = counted(dr * r * (1.0 - r));
    dx[t] = joined({dz, dr, narrowDn}, 1);
    dp[t] = after ? joined({dz, dr, counted(dn * r)}, 1) : dx[t];
    Expr taken = after ? dp[t] : joined({dz, dr}, 1);
    dh = u.keep(t, next, dy) + wide(matmul(taken, direct));
  });
  Expr all = stackRows(dx);
  return d.results({all, after ? stackRows(dp) : all, *dh});
}

auto rnn(Decomposition<RnnOp> &d) {
  RnnOp op = d.op;
  Unrolled u(d, op.getX());
  Expr x = rows(d.expr(op.getX()));
  Type element = elementType(op.getX());
  std::optional<Expr> h = initialState(d.expr(op.getH0()));
  std::vector<Expr> hs(u.steps, x);
  u.forEachStep(false, [&](int64_t t) {
    Expr a = *plus(wide(u.at(x, t)), u.timesR(h));
    Expr next = op.getRelu() ? maximum(a, 0) : tanh(a);
    h = hs[t] = u.keep(t, next.cast(element), h);
  });
  return d.results({stackRows(hs)});
}

auto rnnBackward(Decomposition<RnnBackwardOp> &d) {
  RnnBackwardOp op = d.op;
  Unrolled u(d, op.getDh());
  Expr hs = rows(d.expr(op.getH()));
  std::optional<Expr> dh;
  std::vector<Expr> dx(u.steps, hs);
  u.forEachStep(true, [&](int64_t t) {
    Expr y = wide(u.at(hs, t));
    Expr nothing = y.scalar(0).broadcast(y.shape());
    Expr dy = plus(u.known(op.getDh(), t), dh).value_or(nothing);
    Expr da = op.getRelu() ? select(y > 0, dy, nothing) : dy * (1.0 - y * y);
    dx[t] = u.narrow(u.keep(t, da, std::nullopt));
    Expr through = wide(matmul(dx[t], u.r));
    dh = u.valid ? through + u.keep(t, nothing, dy) : through;
  });
  return d.results({stackRows(dx), *dh});
}

} // namespace
} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachRecurrenceDecompositions(MLIRContext &c) {
  decomposition<LstmOp>(c, [](auto &d) { return lstm(d); });
  decomposition<LstmBackwardOp>(c, [](auto &d) { return lstmBackward(d); });
  decomposition<GruOp>(c, [](auto &d) { return gru(d); });
  decomposition<GruBackwardOp>(c, [](auto &d) { return gruBackward(d); });
  decomposition<RnnOp>(c, [](auto &d) { return rnn(d); });
  decomposition<RnnBackwardOp>(c, [](auto &d) { return rnnBackward(d); });
}
