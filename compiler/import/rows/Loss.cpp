// Losses that are already in the graph.
#include "compiler/import/rows/Rows.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace {

/// (N, C, d...) as [N d..., C] rows.
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

const int64_t kAll[] = {0};

/// sum(loss) / number of rows that count.
Value meanLoss(const Node &n, Value loss, Value labels) {
  if (!n.has("ignore_index"))
    return n.make<ir::ReduceMeanOp>(loss, ArrayRef<int64_t>(kAll), false);
  Value sum = n.make<ir::ReduceSumOp>(loss, ArrayRef<int64_t>(kAll), false);
  Value counts =
      n.make<ir::CompareOp>(ir::Predicate::ne, labels,
                            n.constant(n.integer("ignore_index", 0), labels));
  Value weights = n.cast(counts, ir::elementType(loss));
  return n.make<ir::DivOp>(
      sum, n.make<ir::ReduceSumOp>(weights, ArrayRef<int64_t>(kAll), false));
}

LogicalResult softmaxCrossEntropy(const Node &n) {
  Value scores = n.in(0), labels = n.in(1);
  if (!scores || !labels)
    return failure();
  if (n.has(2))
    return n.fail() << "class weights are not supported";
  Shape labelShape = shapeOf(labels), expected = shapeOf(scores);
  if (expected.size() < 2)
    return n.fail() << "expected scores of rank 2 or more, found "
                    << toString(expected);
  expected.erase(expected.begin() + 1);
  if (labelShape != expected)
    return n.fail() << "expected labels of shape " << toString(expected)
                    << ", found " << toString(labelShape);
  if (n.uses(1)) {
    Value logProb = n.make<ir::LogSoftmaxOp>(scores, uint64_t(1));
    if (failed(n.result(1, logProb)))
      return failure();
  }
  Value rows = rowsOf(n, scores);
  labels = n.cast(n.reshape(labels, {shapeOf(rows)[0]}), n.b.getI64Type());
  IntegerAttr ignore;
  if (n.has("ignore_index"))
    ignore = n.b.getI64IntegerAttr(n.integer("ignore_index", 0));
  Operation *op = n.makeOp<ir::SoftmaxCrossEntropyOp>(2, rows, labels, ignore);
  if (!op)
    return failure();
  Value loss = op->getResult(0);
  std::string reduction = n.text("reduction", "mean");
  if (reduction == "none")
    return n.result(n.reshape(loss, labelShape));
  if (reduction == "sum")
    return n.result(
        n.make<ir::ReduceSumOp>(loss, ArrayRef<int64_t>(kAll), false));
  if (reduction != "mean")
    return n.fail() << "reduction '" << reduction
                    << "' is not known, expected mean, sum or none";
  return n.result(meanLoss(n, loss, labels));
}

} // namespace

void addLossRows(Rows &rows) {
  rows["SoftmaxCrossEntropyLoss"] = {12, softmaxCrossEntropy};
}

} // namespace dlc::import
