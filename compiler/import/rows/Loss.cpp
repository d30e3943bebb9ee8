// SPDX-License-Identifier: Apache-2.0
// Loss operators in the graph.
#include "compiler/dialect/Expr.h"
#include "compiler/import/rows/Rows.h"
#include "onnx-ml.pb.h"
#include <limits>

using namespace mlir;
using dlc::ir::Expr;

namespace dlc::import {
namespace {

/// Transposes (N, C, d...) to rows [N d..., C].
Value rowsOf(const Node &n, Value scores) {
  Shape shape = shapeOf(scores);
  std::vector<int64_t> perm{0};
  int64_t rows = shape[0];
  for (size_t d = 2; d < shape.size(); ++d) {
    perm.push_back(d);
    rows *= shape[d];
  }
  perm.push_back(1);
  if (shape.size() > 2)
    scores = n.transpose(scores, perm);
  return n.reshape(scores, {rows, shape[1]});
}

/// Labels of a loss by row.
struct Targets {
  Shape shape;                 // of the labels
  Expr labels;                 // [R], i64
  std::optional<Expr> ignored; // [R], label is `ignore_index`
  std::optional<Expr> weights; // [R], class weights, 0 if ignored

  /// Labels, with `instead` for ignored ones.
  Expr known(double instead) const {
    return ignored ? select(*ignored, labels.scalar(instead), labels) : labels;
  }
};

FailureOr<Targets> targetsOf(const Node &n, Value scores) {
  Value labels = n.in(1);
  if (!scores || !labels)
    return failure();
  Shape found = shapeOf(labels), expected = shapeOf(scores);
  if (expected.size() < 2)
    return n.fail() << "expected scores of rank 2 or more, found "
                    << toString(expected);
  const int64_t classes = expected[1];
  expected.erase(expected.begin() + 1);
  if (found != expected)
    return n.fail() << "expected labels of shape " << toString(expected)
                    << ", found " << toString(found);
  const int64_t rows = ir::tensorType(labels).getNumElements();
  Expr index(n.b, n.loc, n.cast(n.reshape(labels, {rows}), n.b.getI64Type()));
  Targets targets{found, index, std::nullopt, std::nullopt};
  if (n.has("ignore_index")) {
    Expr ignored = index.scalar(double(n.integer("ignore_index", 0)));
    targets.ignored = compare(ir::Predicate::eq, index, ignored);
  }
  if (!n.has(2))
    return targets;
  if (n.shape(2) != Shape{classes})
    return n.fail() << "expected weights of shape " << toString({classes})
                    << ", found " << toString(n.shape(2));
  DLC_GET(Value each, n.make<ir::GatherOp>(n.in(2), targets.known(0).v,
                                           uint64_t(0), IntegerAttr()));
  Expr weights(n.b, n.loc, each);
  targets.weights = targets.ignored
                        ? select(*targets.ignored, weights.scalar(0), weights)
                        : weights;
  return targets;
}

/// Sets output 0 to the reduction of row losses, which are 0 if ignored.
LogicalResult reduced(const Node &n, Expr loss, const Targets &targets) {
  if (targets.weights)
    loss = loss * *targets.weights;
  std::string reduction = n.text("reduction", "mean");
  if (reduction == "none")
    return n.result(loss.reshape(targets.shape));
  if (reduction == "sum")
    return n.result(loss.sum({0}));
  if (reduction != "mean")
    return n.fail() << "reduction '" << reduction
                    << "' is not known, expected mean, sum or none";
  if (targets.weights)
    return n.result(loss.sum({0}) / targets.weights->sum({0}));
  if (!targets.ignored)
    return n.result(loss.mean({0}));
  Expr counts = loss.make<ir::NotOp>(targets.ignored->v)
                    .cast(loss.type().getElementType());
  return n.result(loss.sum({0}) / counts.sum({0}));
}

LogicalResult softmaxCrossEntropy(const Node &n) {
  Value scores = n.in(0);
  DLC_GET(auto targets, targetsOf(n, scores));
  if (n.uses(1)) {
    Value logProb = n.make<ir::LogSoftmaxOp>(scores, uint64_t(1));
    DLC_CHECK(n.result(1, logProb));
  }
  IntegerAttr ignore;
  if (targets.ignored)
    ignore = n.b.getI64IntegerAttr(n.integer("ignore_index", 0));
  Operation *op = n.makeOp<ir::SoftmaxCrossEntropyOp>(2, rowsOf(n, scores),
                                                      targets.labels.v, ignore);
  if (!op)
    return failure();
  return reduced(n, Expr(n.b, n.loc, op->getResult(0)), targets);
}

/// The negative score of each row's label. An invalid label gives NaN, which
/// training reports.
LogicalResult negativeLogLikelihood(const Node &n) {
  Value scores = n.in(0);
  DLC_GET(auto targets, targetsOf(n, scores));
  DLC_GET(Value rows, rowsOf(n, scores));
  Expr x(n.b, n.loc, rows);
  const int64_t count = x.shape()[0], classes = x.shape()[1];
  auto type = RankedTensorType::get({count, classes}, n.b.getI64Type());
  Expr index = x.make<ir::IotaOp>(type, 1), labels = targets.known(-1);
  Expr hit = compare(ir::Predicate::eq, index, labels.reshape({count, 1}));
  Expr loss = -select(hit, x, x.scalar(0)).sum({1});
  auto isOutside = [&](ir::Predicate p, int64_t bound) {
    return compare(p, targets.known(0), labels.scalar(double(bound)));
  };
  Expr outside = x.make<ir::OrOp>(isOutside(ir::Predicate::lt, 0).v,
                                  isOutside(ir::Predicate::ge, classes).v);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return reduced(n, select(outside, loss.scalar(nan), loss), targets);
}

} // namespace

void addLossRows(Rows &rows) {
  rows["SoftmaxCrossEntropyLoss"] = softmaxCrossEntropy;
  rows["NegativeLogLikelihoodLoss"] = negativeLogLikelihood;
}

} // namespace dlc::import
