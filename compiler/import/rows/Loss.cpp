// SPDX-License-Identifier: Apache-2.0
// Loss operators in the graph.
#include "compiler/import/rows/Build.h"
#include "onnx-ml.pb.h"
#include <limits>

using namespace mlir;

namespace dlc::import {
namespace {

/// Labels of a loss by row.
struct Targets {
  Shape shape;                 // of the labels
  Expr labels;                 // [R], i64
  std::optional<Expr> ignored; // [R], label is `ignore_index`
  std::optional<Expr> weights; // [R], class weights, 0 if ignored

  /// Scores [N, C, d...] as rows [N d..., C].
  Expr rows(Expr scores) const {
    return moved(scores, 1, scores.rank() - 1)
        .reshape({labels.shape()[0], scores.shape()[1]});
  }
  /// Labels, with `instead` for ignored ones.
  Expr known(double instead) const {
    return ignored ? select(*ignored, instead, labels) : labels;
  }
};

FailureOr<Targets> targetsOf(const Node &n, Expr scores) {
  DLC_GET(auto labels, input(n, 1));
  Shape found = shapeOf(labels), expected = shapeOf(scores);
  if (expected.size() < 2)
    return n.fail("expected scores of rank 2 or more, found {}", expected);
  const int64_t classes = expected[1];
  expected.erase(expected.begin() + 1);
  if (found != expected)
    return n.fail("expected labels of shape {}, found {}", expected, found);
  Expr index = labels.reshape({sizeOf(found)}).cast(n.b.getI64Type());
  Targets targets{found, index, std::nullopt, std::nullopt};
  if (n.has("ignore_index"))
    targets.ignored = index == n.integer("ignore_index", 0);
  if (!n.has(2))
    return targets;
  if (n.shape(2) != Shape{classes})
    return n.fail("expected weights of shape {}, found {}", Shape{classes},
                  n.shape(2));
  DLC_GET(Value each, n.make<ir::GatherOp>(n.in(2), targets.known(0).v,
                                           uint64_t(0), IntegerAttr()));
  Expr weights = n.expr(each);
  targets.weights =
      targets.ignored ? select(*targets.ignored, 0, weights) : weights;
  return targets;
}

/// Sets output 0 to the reduction of row losses, which are 0 if ignored.
LogicalResult reduced(const Node &n, Expr loss, const Targets &targets) {
  if (targets.weights)
    loss = loss * *targets.weights;
  DLC_GET(const auto reduction,
          n.choice("reduction", "mean", {"mean", "sum", "none"}));
  if (reduction == "none")
    return n.result(loss.reshape(targets.shape));
  if (reduction == "sum")
    return n.result(loss.sum({0}));
  if (targets.weights)
    return n.result(loss.sum({0}) / targets.weights->sum({0}));
  if (!targets.ignored)
    return n.result(loss.mean({0}));
  Expr counts = (!*targets.ignored).cast(loss.element());
  return n.result(loss.sum({0}) / counts.sum({0}));
}

LogicalResult softmaxCrossEntropy(const Node &n, Expr scores) {
  DLC_GET(auto targets, targetsOf(n, scores));
  if (n.uses(1))
    DLC_CHECK(n.result(1, n.make<ir::LogSoftmaxOp>(scores.v, uint64_t(1))));
  IntegerAttr ignore;
  if (targets.ignored)
    ignore = n.b.getI64IntegerAttr(n.integer("ignore_index", 0));
  Operation *op = n.makeOp<ir::SoftmaxCrossEntropyOp>(2, targets.rows(scores).v,
                                                      targets.labels.v, ignore);
  if (!op)
    return failure();
  return reduced(n, n.expr(op->getResult(0)), targets);
}

/// The negative score of each row's label. An invalid label gives NaN, which
/// training reports.
LogicalResult negativeLogLikelihood(const Node &n, Expr scores) {
  DLC_GET(auto targets, targetsOf(n, scores));
  Expr x = targets.rows(scores);
  const int64_t count = x.shape()[0], classes = x.shape()[1];
  Expr hit =
      iota(n, {count, classes}, 1) == targets.known(-1).reshape({count, 1});
  Expr loss = -select(hit, x, 0).sum({1});
  Expr outside = either(targets.known(0) < 0, targets.known(0) >= classes);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return reduced(n, select(outside, nan, loss), targets);
}

} // namespace

void addLossRows(Rows &rows) {
  rows["SoftmaxCrossEntropyLoss"] = ofInputs<softmaxCrossEntropy>;
  rows["NegativeLogLikelihoodLoss"] = ofInputs<negativeLogLikelihood>;
}

} // namespace dlc::import
