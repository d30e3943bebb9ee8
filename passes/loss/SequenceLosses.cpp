// SPDX-License-Identifier: Apache-2.0
// CTC: labels of a sequence without alignment.
//   1. Blanks are inserted before, between and after labels: states of a path.
//   2. dlc.ctc_paths sums over all paths, in log space, step by step.
//   3. The loss is that of the paths that end at the last label or the blank
//      after it.
#include "compiler/dialect/ops/Recurrence.h"
#include "passes/loss/LossKinds.h"
#include <limits>

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
namespace {

/// Number of states is a multiple of this, so that slices of steps are aligned.
constexpr int64_t kPlacesTogether = 16;

/// Log-probabilities below -kImpossible are those of no path.
constexpr double kImpossible = 1e29;

FailureOr<LossInputs> ctcInputs(func::FuncOp predict, OutputTypes outs,
                                const LossOptions &options) {
  RankedTensorType out = outs[0];
  const bool stepsFirst = options.ctcLayout == CtcLayout::stepsFirst;
  if (out.getRank() != 3)
    return predict.emitError()
           << "ctc expects an output of shape "
           << (stepsFirst ? "[steps, rows, classes]" : "[rows, steps, classes]")
           << ", found " << out;
  if (options.ctcBlank >= out.getDimSize(2))
    return predict.emitError()
           << "ctc(blank=" << options.ctcBlank << ") is none of the "
           << out.getDimSize(2) << " classes of the output " << out;
  const int64_t rows = out.getDimSize(stepsFirst ? 1 : 0);
  Type i64 = IntegerType::get(predict.getContext(), 64);
  LossInputs takes{
      {{"", RankedTensorType::get({rows, *options.ctcLabels}, i64)}}, rows};
  if (!options.ctcPadded)
    for (const char *name : {"input_lengths", "target_lengths"})
      takes.inputs.push_back({name, RankedTensorType::get({rows}, i64)});
  return takes;
}

/// [B, L] from labels [B, S]: blanks at even positions, and padding.
Expr placesOf(Expr labels, int64_t blank) {
  const int64_t rows = labels.shape()[0], most = labels.shape()[1];
  const int64_t behind =
      llvm::alignTo(2 * most + 1, kPlacesTogether) - 2 * most;
  Expr none = labels.scalar(double(blank));
  Expr pairs = ir::joined(
      {none.broadcast({rows, most, 1}), labels.reshape({rows, most, 1})}, 2);
  return ir::joined(
      {pairs.reshape({rows, 2 * most}), none.broadcast({rows, behind})}, 1);
}

/// Where a path may skip the blank before it: [B, L].
Expr mayJump(Expr places) {
  Expr first = part(places, 1, 0, 2),
       before = part(places, 1, 0, places.shape()[1] - 2);
  return places != ir::joined({first, before}, 1);
}

Value belowLastSoftmax(Value out, const LossOptions &) {
  return belowSoftmax(out, {});
}

/// Lengths and labels of a batch after validation.
struct CtcTargets {
  Expr labels, steps, count; // [B, S], padded with blanks; [B]; [B]
  Expr wrong;                // [B]: invalid class or length

  CtcTargets(ExprList inputs, int64_t allSteps, int64_t classes,
             const LossOptions &options)
      : labels(inputs[0]), steps(labels), count(labels), wrong(labels) {
    const int64_t rows = labels.shape()[0], most = labels.shape()[1];
    Expr zero = labels.scalar(0);
    if (options.ctcPadded) {
      count = (labels >= zero)
                  .cast(Float32Type::get(labels.b->getContext()))
                  .sum({1})
                  .cast(labels.b->getI64Type());
      steps = labels.scalar(double(allSteps)).broadcast({rows});
    } else {
      steps = inputs[1];
      count = inputs[2];
    }
    Expr inUse = iota(labels, {rows, most}, 1) < count.reshape({rows, 1});
    Expr odd = both(inUse, outsideOf(labels, classes));
    labels = select(both(inUse, !odd), labels, options.ctcBlank);
    Expr found = odd.cast(Float32Type::get(labels.b->getContext())).max({1});
    Expr any = found > 0;
    wrong = either(any, either(outsideOf(count, most + 1),
                               outsideOf(steps, allSteps + 1)));
  }
};

/// The log-probability of each state at each step, [T, B, L], from [T, B, C].
Expr emissionsOf(Expr logs, Expr places) {
  const int64_t steps = logs.shape()[0], rows = logs.shape()[1],
                classes = logs.shape()[2], count = places.shape()[1];
  Expr at = iota(logs, {steps, rows, 1}, 0) * double(rows * classes) +
            iota(logs, {steps, rows, 1}, 1) * double(classes) +
            places.reshape({1, rows, count});
  Expr flat = logs.reshape({steps * rows * classes});
  return gathered(flat, at, 0);
}

/// The log of the sum of paths that end in states 2 count and 2 count - 1: [B].
Expr endOf(Expr last, Expr count) {
  const int64_t rows = last.shape()[0], places = last.shape()[1];
  Expr place = iota(last, {rows, places}, 1),
       end = count.reshape({rows, 1}) * 2.0;
  Expr isEnd = either(place == end, place == end - 1.0);
  Expr among = select(isEnd, last, -10 * kImpossible);
  // Floor drops the gradient of the maximum: the rest already has all of it.
  Expr most = among.max({1}, true);
  most = floor(most);
  return (log(exp(among - most).sum({1}, true)) + most).reshape({rows});
}

LossRows ctcLoss(ExprList x, ExprList inputs, const LossOptions &options) {
  Expr logs = x[0].make<ir::LogSoftmaxOp>(x[0].v, uint64_t(2));
  if (options.ctcLayout == CtcLayout::rowsFirst)
    logs = transposed(logs, {1, 0, 2});
  const int64_t steps = logs.shape()[0], rows = logs.shape()[1];
  CtcTargets targets(inputs, steps, logs.shape()[2], options);
  Expr places = placesOf(targets.labels, options.ctcBlank);
  Expr emissions = emissionsOf(logs, places);
  Expr valid = iota(logs, {steps, rows}, 0) < targets.steps.reshape({1, rows});
  Expr last =
      logs.make<ir::CtcPathsOp>(emissions.v, mayJump(places).v, valid.v);
  Expr loss = -endOf(last, targets.count);
  Expr isPossible = loss < kImpossible;
  loss = select(
      isPossible, loss,
      options.ctcZeroInfinity ? 0 : std::numeric_limits<double>::infinity());
  Expr labels = targets.count.cast(loss.element());
  loss = loss / maximum(labels, 1);
  return {select(targets.wrong, std::numeric_limits<double>::quiet_NaN(), loss),
          nullptr};
}

const LossKind sequenceKinds[] = {
    {"ctc", 1, ctcInputs, belowLastSoftmax, ctcLoss}};

} // namespace

LossFamily sequenceLosses() { return sequenceKinds; }

} // namespace dlc
