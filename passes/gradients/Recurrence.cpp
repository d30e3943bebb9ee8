// SPDX-License-Identifier: Apache-2.0
// Gradients of recurrent layers. The gradient of all steps is one op; that of
// the weights is one product over all steps.
#include "compiler/dialect/ops/Recurrence.h"
#include "compiler/dialect/ops/Matrices.h"
#include "passes/Gradients.h"
#include "passes/gradients/Rows.h"

using namespace mlir;

namespace dlc::ir {
namespace {

/// Zeros if there is no gradient.
Value stepsGradient(const Expr &like, Value dy) {
  return dy ? dy : Value(like.scalar(0).broadcast(like.shape()));
}

/// The state before each step, from the states after each step: [T, B, H].
Expr statesBefore(Expr states, Expr first, bool reverse) {
  const int64_t steps = states.shape()[0], rows = states.shape()[1],
                units = states.shape()[2];
  Expr initial = first.reshape({1, rows, units});
  if (steps == 1)
    return initial;
  Expr others = part(states, 0, reverse ? 1 : 0, steps - 1);
  return reverse ? joined({others, initial}, 0) : joined({initial, others}, 0);
}

/// d^T x over all steps and rows.
Expr overSteps(Expr d, Expr x) { return matmul(rows(d), rows(x), true); }

Values lstm(Gradient<LstmOp> &g) {
  LstmOp op = g.op;
  auto backward = LstmBackwardOp::create(
      g.builder, op.getLoc(), stepsGradient(g.expr(op.getH()), g.dys[0]),
      stepsGradient(g.expr(op.getC()), g.dys[1]), op.getGates(), op.getC(),
      op.getC0(), op.getR(), op.getValid(), op.getReverse());
  Expr before =
      statesBefore(g.expr(op.getH()), g.expr(op.getH0()), op.getReverse());
  Values values{backward.getDx(), overSteps(g.expr(backward.getDx()), before),
                backward.getDh0(), backward.getDc0()};
  values.resize(op->getNumOperands());
  return values;
}

Values gru(Gradient<GruOp> &g) {
  GruOp op = g.op;
  auto backward = GruBackwardOp::create(
      g.builder, op.getLoc(), stepsGradient(g.expr(op.getH()), g.dys[0]),
      op.getGates(), op.getH(), op.getH0(), op.getR(), op.getValid(),
      op.getResetAfter(), op.getReverse());
  Expr dp = g.expr(backward.getDp()), gates = g.expr(op.getGates());
  const int64_t units = dp.shape()[2] / 3;
  Expr before =
      statesBefore(g.expr(op.getH()), g.expr(op.getH0()), op.getReverse());
  Expr dn = part(dp, 2, 2 * units, units), dr = dp;
  if (op.getResetAfter()) {
    dr = overSteps(dp, before);
  } else { // the candidate's product is that of r h'
    dr = joined({overSteps(part(dp, 2, 0, 2 * units), before),
                 overSteps(dn, part(gates, 0, 3, 1))},
                0);
  }
  Values values{backward.getDx(), dr, sumTo(dn, {units}), backward.getDh0()};
  values.resize(op->getNumOperands());
  return values;
}

Values rnn(Gradient<RnnOp> &g) {
  RnnOp op = g.op;
  auto backward =
      RnnBackwardOp::create(g.builder, op.getLoc(), g.dy, op.getH(), op.getR(),
                            op.getValid(), op.getRelu(), op.getReverse());
  Expr before =
      statesBefore(g.expr(op.getH()), g.expr(op.getH0()), op.getReverse());
  Values values{backward.getDx(), overSteps(g.expr(backward.getDx()), before),
                backward.getDh0()};
  values.resize(op->getNumOperands());
  return values;
}

} // namespace
} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachRecurrenceGradients(MLIRContext &c) {
  grad<LstmOp>(c, [](auto &g) -> FailureOr<Values> {
    if (g.dys[2])
      return g.op.emitOpError("has no gradient through its gates");
    return lstm(g);
  });
  grad<GruOp>(c, [](auto &g) -> FailureOr<Values> {
    if (g.dys[1])
      return g.op.emitOpError("has no gradient through its gates");
    return gru(g);
  });
  grad<RnnOp>(c, [](auto &g) { return rnn(g); });
  grad<CtcPathsOp>(c, [](auto &g) -> FailureOr<Values> {
    CtcPathsOp op = g.op;
    if (g.dys[1])
      return op.emitOpError("has no gradient through its steps");
    Values values{CtcPathsBackwardOp::create(g.builder, op.getLoc(), g.dys[0],
                                             op.getE(), op.getAll(),
                                             op.getJumps(), op.getValid())};
    values.resize(op->getNumOperands());
    return values;
  });
}
