// SPDX-License-Identifier: Apache-2.0
#include "passes/loss/LossResults.h"
#include "passes/loss/LossKinds.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
namespace {

/// [R] in f32: the sum over all dimensions but the first, or the mean if the
/// first has rows for each sample.
Expr asRows(Expr x, bool sums, int64_t samples) {
  x = x.cast(Float32Type::get(x.b->getContext()));
  if (x.rank() > 1 && x.shape()[0] % samples == 0) {
    auto axes = ir::axesBetween(1, x.rank());
    return sums ? x.sum(axes) : x.mean(axes);
  }
  return x.reshape({x.type().getNumElements()});
}

Expr endOf(func::FuncOp f, OpBuilder &b, Value v) {
  b.setInsertionPoint(f.front().getTerminator());
  return Expr(b, v.getLoc(), v);
}

} // namespace

void addMeans(func::FuncOp f, ArrayRef<LossMean> means, double factor,
              StringRef name, int64_t samples) {
  OpBuilder b(f.getContext());
  for (auto [i, mean] : llvm::enumerate(means)) {
    const std::string suffix = (name.empty() ? "" : "." + name.str()) +
                               (i ? "." + std::to_string(i) : "");
    Expr rows = asRows(endOf(f, b, mean.rows), bool(mean.weights), samples);
    const double all = factor * mean.factor;
    addResult(f, all == 1 ? rows : rows * all, "row_loss" + suffix);
    if (mean.weights)
      addResult(f, asRows(endOf(f, b, mean.weights), true, samples),
                "row_weight" + suffix);
  }
}

void addHits(func::FuncOp f, Value correct, Value weights) {
  OpBuilder b(f.getContext());
  Expr hits = endOf(f, b, correct);
  if (!weights)
    return addResult(f, hits, "row_correct");
  Expr weight = endOf(f, b, weights);
  Expr counts = (weight != 0).cast(ir::elementType(correct));
  addResult(f, hits * counts, "row_correct");
  addResult(f, counts, "row_counted");
}

int64_t samplesOf(func::FuncOp f) {
  for (Type type : f.getArgumentTypes())
    if (auto tensor = cast<RankedTensorType>(type); tensor.getRank() > 0)
      return tensor.getDimSize(0);
  return 1;
}

LossMeans graphMeans(Value loss, int64_t samples) {
  if (auto means = meansOf(loss, samples))
    return *means;
  emitWarning(loss.getLoc())
      << "the loss is no sum of means over samples that dlc can tell apart: "
         "its value in evaluation is the mean over batches, and with several "
         "ranks or --accumulate training is by the mean of theirs; batches of "
         "another size may give another number";
  return {{loss}};
}

/// The sum of a cross entropy's rows is evaluated as their mean.
void addGraphRows(func::FuncOp f, Expr loss, ir::SoftmaxCrossEntropyOp op) {
  const int64_t samples = samplesOf(f);
  LossMeans means = graphMeans(loss, samples);
  if (op && means.size() == 1 && means[0].rows == op.getLoss() &&
      loss.v.getDefiningOp<ir::ReduceSumOp>())
    means[0].factor = 1;
  addMeans(f, means, 1, "", samples);
  if (!op)
    return;
  Expr labels(*loss.b, op.getLoc(), op.getLabels());
  Value hits = classHits(Expr(*loss.b, op.getLoc(), op.getLogits()), labels);
  Value weights;
  for (const LossMean &mean : means)
    if (mean.weights && mean.weights.getType() == op.getLoss().getType())
      weights = mean.weights;
  if (auto index = op.getIgnoreIndex(); index && !weights)
    weights = (labels != *index).cast(ir::elementType(hits));
  addHits(f, hits, weights);
}

} // namespace dlc
