// SPDX-License-Identifier: Apache-2.0
// Sums over CTC's paths, step by step; see Recurrence.cpp.
#include "compiler/dialect/ops/Recurrence.h"
#include "compiler/lower/decompose/Decompositions.h"
#include "compiler/lower/decompose/Rows.h"
#include "compiler/lower/decompose/Steps.h"

using namespace mlir;

namespace dlc::ir {
namespace {

/// What both directions share; tensors of all steps are [T B, L].
class PathSteps {
public:
  template <class OpTy>
  PathSteps(Decomposition<OpTy> &d)
      : steps(tensorType(d.op.getE()).getDimSize(0)),
        batch(tensorType(d.op.getE()).getDimSize(1)),
        places(tensorType(d.op.getE()).getDimSize(2)), e(rows(d(d.op.getE()))),
        jumps(d.expr(d.op.getJumps())),
        valid(d.expr(d.op.getValid())
                  .cast(e.element())
                  .reshape({steps * batch, 1})
                  .broadcast({steps * batch, places})) {}

  Expr rows(Expr all) const { return all.reshape({steps * batch, places}); }
  Expr at(Expr all, int64_t t) const { return stepRows(all, t * batch, batch); }
  /// Whether step t is valid, as numbers, so the slice of a step is aligned.
  Expr counts(int64_t t) const {
    Expr number = at(valid, t);
    return number != 0;
  }
  /// The state before the first step.
  Expr start() const {
    return select(iota(e, {batch, places}, 1) == 0, e.scalar(0),
                  e.scalar(kNoPath));
  }
  /// The values of states `by` positions before (by < 0: after), `other` where
  /// there is none.
  Expr shifted(Expr x, int64_t by, double other) const {
    const int64_t far = std::abs(by);
    Expr kept = part(x, 1, by < 0 ? far : 0, places - far);
    Expr none = x.scalar(other).broadcast({batch, far});
    return by < 0 ? joined({kept, none}, 1) : joined({none, kept}, 1);
  }
  /// The paths before a step that move forward by `by` states.
  Expr from(Expr before, int64_t by) const {
    if (by == 0)
      return before;
    Expr moved = shifted(before, by, kNoPath);
    return by == 2 ? select(jumps, moved, kNoPath) : moved;
  }

  const int64_t steps, batch, places;
  Expr e, jumps, valid;
};

auto ctcPaths(Decomposition<CtcPathsOp> &d) {
  PathSteps p(d);
  Expr now = p.start();
  std::vector<Expr> all;
  for (int64_t t = 0; t < p.steps; ++t) {
    Expr stay = now, next = p.from(now, 1), jump = p.from(now, 2);
    Expr most = maximum(stay, maximum(next, jump));
    Expr sum =
        most + log(exp(stay - most) + exp(next - most) + exp(jump - most));
    now = select(p.counts(t), sum + p.at(p.e, t), stay);
    all.push_back(now);
  }
  return d.results({now, stackRows(all)});
}

auto ctcPathsBackward(Decomposition<CtcPathsBackwardOp> &d) {
  PathSteps p(d);
  Expr all = p.rows(d(d.op.getAll())), dNow = d(d.op.getDlast());
  std::vector<Expr> de(p.steps, dNow);
  for (int64_t t = p.steps; t-- > 0;) {
    Expr before = t ? p.at(all, t - 1) : p.start();
    Expr sum = p.at(all, t) - p.at(p.e, t), valid = p.counts(t);
    de[t] = select(valid, dNow, 0);
    std::optional<Expr> dBefore;
    for (int64_t by = 0; by < 3; ++by) {
      // Terms exceed the sum only by rounding.
      Expr share = exp(minimum(p.from(before, by) - sum, 0));
      Expr part = dNow * share;
      if (by)
        part = p.shifted(part, -by, 0);
      dBefore = dBefore ? *dBefore + part : part;
    }
    dNow = select(valid, *dBefore, dNow);
  }
  return d.results({stackRows(de)});
}

} // namespace
} // namespace dlc::ir

using namespace dlc::ir;

void dlc::attachPathDecompositions(MLIRContext &c) {
  decomposition<CtcPathsOp>(c, [](auto &d) { return ctcPaths(d); });
  decomposition<CtcPathsBackwardOp>(
      c, [](auto &d) { return ctcPathsBackward(d); });
}
