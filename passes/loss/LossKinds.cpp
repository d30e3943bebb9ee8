// SPDX-License-Identifier: Apache-2.0
#include "passes/loss/LossKinds.h"
#include "compiler/dialect/ops/Matrices.h"
#include <limits>

using namespace mlir;
using dlc::ir::elementType;
using dlc::ir::Expr;
using dlc::ir::tensorType;

namespace dlc {

Expr rowMeans(Expr x) {
  return x.rank() > 1 ? x.mean(ir::axesBetween(1, x.rank())) : x;
}

RankedTensorType valueLabels(func::FuncOp predict, RankedTensorType out,
                             const LossOptions &) {
  if (out.getRank() >= 1)
    return ir::isHalf(out.getElementType())
               ? out.clone(Float32Type::get(out.getContext()))
               : out;
  predict.emitError() << "expected an output with a row per sample, found "
                      << out;
  return nullptr;
}

RankedTensorType classLabels(func::FuncOp predict, RankedTensorType out,
                             const LossOptions &options) {
  auto axis = classAxis(out.getRank(), options);
  int64_t classes = axis && out.getRank() ? out.getDimSize(*axis) : 0;
  if (!axis) {
    predict.emitError() << "--class-axis=" << *options.classAxis
                        << " is not an axis of the output " << out;
    return nullptr;
  }
  if (const size_t given = options.classWeights.size();
      given && classes >= 2 && given != size_t(classes)) {
    predict.emitError() << "--class-weights has " << given
                        << " numbers, expected one for each of the " << classes
                        << " classes of the output " << out;
    return nullptr;
  }
  if (out.getRank() >= 2 && classes >= 2) {
    if (options.softLabels)
      return valueLabels(predict, out, options);
    SmallVector<int64_t> shape(out.getShape());
    shape.erase(shape.begin() + *axis);
    if (*axis == out.getRank() - 1)
      shape = {out.getNumElements() / classes};
    return RankedTensorType::get(shape, IntegerType::get(out.getContext(), 64));
  }
  predict.emitError()
      << "cross_entropy expects an output of shape [rows, classes], found "
      << out << "; use "
      << (out.getRank() == 0
              ? "--loss=OUTPUT:graph for a loss that the graph computes"
          : classes == 1
              ? "--loss=bce for one logit a row, --loss=mse for a number"
              : "--loss=mse for numbers");
  return nullptr;
}

Value belowSoftmax(Value out, const LossOptions &options) {
  auto axis = classAxis(tensorType(out).getRank(), options);
  if (auto op = out.getDefiningOp<ir::SoftmaxOp>();
      op && axis && (int64_t)op.getAxis() == *axis)
    return op.getX();
  if (auto op = out.getDefiningOp<ir::LogSoftmaxOp>();
      op && axis && (int64_t)op.getAxis() == *axis)
    return op.getX();
  return out;
}
Value belowSigmoid(Value out, const LossOptions &) {
  auto op = out.getDefiningOp<ir::SigmoidOp>();
  return op ? op.getX() : out;
}
Value itself(Value out, const LossOptions &) { return out; }

Expr rowsOfClasses(Expr x, const LossOptions &options) {
  return ir::rows(moved(x, *classAxis(x.rank(), options), x.rank() - 1));
}

Expr constantOf(Expr like, const std::vector<double> &numbers) {
  Type element = like.element();
  SmallVector<Attribute> values;
  for (double number : numbers)
    values.push_back(FloatAttr::get(element, number));
  auto type = RankedTensorType::get({int64_t(numbers.size())}, element);
  return like.make<ir::ConstantOp>(type, DenseElementsAttr::get(type, values));
}

Expr outsideOf(Expr labels, int64_t classes) {
  return either(labels < 0, labels >= classes);
}

ClassTargets::ClassTargets(Expr x, Expr y, const LossOptions &options)
    : labels(y.reshape({x.shape()[0]})) {
  if (options.ignoreIndex)
    ignored = labels == *options.ignoreIndex;
  if (!options.classWeights.empty())
    weights = gathered(constantOf(x, options.classWeights), known(0), 0);
  else if (ignored)
    weights = (!*ignored).cast(x.element());
  if (weights && ignored)
    weights = select(*ignored, weights->scalar(0), *weights);
}

Expr ClassTargets::known(double instead) const {
  return ignored ? select(*ignored, instead, labels) : labels;
}

ir::SoftmaxCrossEntropyOp
ClassTargets::crossEntropy(Expr x, const LossOptions &options) const {
  IntegerAttr ignore;
  if (options.ignoreIndex)
    ignore = x.b->getI64IntegerAttr(*options.ignoreIndex);
  return ir::SoftmaxCrossEntropyOp::create(*x.b, x.loc, x.v, labels.v, ignore);
}

LossRows ClassTargets::rows(Expr x, Expr loss, bool weighs) const {
  if (!weights)
    return {loss, classHits(x, labels)};
  return {weighs ? loss * *weights : loss, classHits(x, labels), *weights};
}

namespace {

/// sum over the classes of weight (lse - x): the term of label smoothing.
Expr evenShare(Expr x, Expr lse, const LossOptions &options) {
  const int64_t classes = x.shape()[1];
  if (options.classWeights.empty())
    return lse * double(classes) - x.sum({1});
  double sum = 0;
  for (double weight : options.classWeights)
    sum += weight;
  return lse * sum - (x * constantOf(x, options.classWeights)).sum({1});
}

LossRows softCrossEntropy(Expr x, Expr y, const LossOptions &options) {
  const double smoothing = options.labelSmoothing;
  Expr hits = classHits(x, y.make<ir::ArgMaxOp>(y.v, ir::Ints{1}, false));
  if (smoothing != 0)
    y = y * (1 - smoothing) + smoothing / double(x.shape()[1]);
  if (!options.classWeights.empty())
    y = y * constantOf(x, options.classWeights);
  Expr logs = x.make<ir::LogSoftmaxOp>(x.v, uint64_t(1));
  return {-(y * logs).sum({1}), hits};
}

/// As in torch: weighted by the labels' classes, the rest by all weights.
LossRows classCrossEntropy(Expr x, Expr labels, const LossOptions &options) {
  x = rowsOfClasses(x, options);
  if (options.softLabels)
    return softCrossEntropy(x, rowsOfClasses(labels, options), options);
  ClassTargets targets(x, labels, options);
  auto op = targets.crossEntropy(x, options);
  Expr loss(*x.b, x.loc, op.getLoss());
  const double smoothing = options.labelSmoothing;
  if (smoothing == 0)
    return targets.rows(x, loss, !options.classWeights.empty());
  if (!options.classWeights.empty())
    loss = loss * *targets.weights;
  Expr even = evenShare(x, Expr(*x.b, x.loc, op.getLse()), options);
  if (targets.ignored)
    even = select(*targets.ignored, 0, even);
  loss = loss * (1 - smoothing) + even * (smoothing / double(x.shape()[1]));
  return targets.rows(x, loss, false);
}

/// The output as log-probabilities, computed from probabilities if necessary.
Expr logProbabilities(Expr x) {
  Value out = x.v;
  if (auto cast = out.getDefiningOp<ir::CastOp>())
    out = cast.getX();
  auto op = out.getDefiningOp<ir::SoftmaxOp>();
  if (!op)
    return x;
  Expr below = Expr(*x.b, x.loc, op.getX()).cast(x.element());
  return x.make<ir::LogSoftmaxOp>(below.v, op.getAxis());
}

/// Labels that are not a class give NaN, which training reports.
LossRows negativeLogLikelihood(Expr x, Expr y, const LossOptions &options) {
  x = rowsOfClasses(logProbabilities(x), options);
  ClassTargets targets(x, y, options);
  Expr hit =
      iota(x, x.shape(), 1) == targets.known(-1).reshape({x.shape()[0], 1});
  Expr loss = -select(hit, x, 0).sum({1});
  Expr outside = outsideOf(targets.known(0), x.shape()[1]);
  loss = select(outside, std::numeric_limits<double>::quiet_NaN(), loss);
  return targets.rows(x, loss, true);
}

LossRows squaredError(Expr x, Expr labels, const LossOptions &) {
  Expr d = x - labels;
  return {rowMeans(d * d), nullptr};
}
LossRows absoluteError(Expr x, Expr labels, const LossOptions &) {
  return {rowMeans(abs(x - labels)), nullptr};
}
/// d^2 / 2 below `delta`, a line beyond.
Expr huberOf(Expr x, Expr labels, double delta) {
  Expr d = x - labels, size = abs(d);
  return select(size < delta, d * d * 0.5, (size - 0.5 * delta) * delta);
}
LossRows huberLoss(Expr x, Expr labels, const LossOptions &options) {
  return {rowMeans(huberOf(x, labels, options.delta)), nullptr};
}
LossRows smoothL1(Expr x, Expr labels, const LossOptions &options) {
  Expr each = huberOf(x, labels, options.delta);
  return {rowMeans(options.delta == 1 ? each : each / options.delta), nullptr};
}

/// y (log y - x) summed over a sample, 0 where y is 0.
LossRows divergence(Expr x, Expr y, const LossOptions &) {
  x = logProbabilities(x);
  Expr isZero = y <= 0;
  Expr each = select(isZero, 0, y * (log(select(isZero, 1, y)) - x));
  if (x.rank() > 1)
    each = each.sum(ir::axesBetween(1, x.rank()));
  return {each, nullptr};
}

RankedTensorType binaryLabels(func::FuncOp predict, RankedTensorType out,
                              const LossOptions &options) {
  const size_t given = options.posWeight.size();
  const int64_t last = out.getRank() ? out.getShape().back() : 0;
  if (given <= 1 || given == size_t(last))
    return valueLabels(predict, out, options);
  predict.emitError() << "bce's pos_weight has " << given
                      << " numbers, expected one or one for each of the "
                      << last << " last elements of the output " << out;
  return nullptr;
}
LossRows binaryCrossEntropy(Expr x, Expr y, const LossOptions &options) {
  auto hitsOf = [&] {
    Expr right = (x > 0) == (y > 0.5);
    return rowMeans(right.cast(elementType(x)));
  };
  if (options.posWeight.empty()) {
    Expr grown = x.make<ir::SoftplusOp>(x.v);
    Expr loss = rowMeans(grown - x * y);
    return {loss, hitsOf()};
  }
  Expr p = options.posWeight.size() == 1 ? x.scalar(options.posWeight[0])
                                         : constantOf(x, options.posWeight);
  Expr minus = -x;
  Expr loss =
      x - x * y + ((p - 1) * y + 1) * minus.make<ir::SoftplusOp>(minus.v);
  loss = rowMeans(loss);
  return {loss, hitsOf()};
}

FailureOr<LossInputs> noLabels(func::FuncOp predict, OutputTypes outs,
                               const LossOptions &) {
  if (outs[0].getNumElements() == 1)
    return LossInputs{{}, 1};
  predict.emitError() << "a loss that the graph computes is one number, found "
                      << outs[0];
  return failure();
}

const LossKind plainKinds[] = {
    {"cross_entropy", 1, labelled<classLabels>, belowSoftmax,
     rowsOf<classCrossEntropy>},
    {"nll", 1, labelled<classLabels>, itself, rowsOf<negativeLogLikelihood>},
    {"mse", 1, labelled<valueLabels>, itself, rowsOf<squaredError>},
    {"l1", 1, labelled<valueLabels>, itself, rowsOf<absoluteError>},
    {"smooth_l1", 1, labelled<valueLabels>, itself, rowsOf<smoothL1>},
    {"huber", 1, labelled<valueLabels>, itself, rowsOf<huberLoss>},
    {"kl", 1, labelled<valueLabels>, itself, rowsOf<divergence>},
    {"bce", 1, labelled<binaryLabels>, belowSigmoid,
     rowsOf<binaryCrossEntropy>},
};
const LossKind graphKind[] = {{"graph", 1, noLabels, itself, nullptr}};

/// In the order of the help.
const std::vector<const LossKind *> &allKinds() {
  static const std::vector<const LossKind *> kinds = [] {
    std::vector<const LossKind *> all;
    for (LossFamily family :
         {LossFamily(plainKinds), overlapLosses(), distanceLosses(),
          sequenceLosses(), LossFamily(graphKind)})
      for (const LossKind &kind : family)
        all.push_back(&kind);
    return all;
  }();
  return kinds;
}

} // namespace

/// A linear layer, also with a bias.
static bool isLayer(Value out, bool sums = true) {
  Operation *op = out.getDefiningOp();
  while (isa_and_nonnull<ir::ReshapeOp, ir::CastOp, ir::TransposeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  if (isa_and_nonnull<ir::AddOp>(op) && sums)
    return isLayer(op->getOperand(0), false) ||
           isLayer(op->getOperand(1), false);
  return isa_and_nonnull<ir::MatmulOp, ir::ConvOp>(op);
}

void warnOfLogits(const LossKind &kind, Value out) {
  if ((kind.name == "nll" || kind.name == "kl") && isLayer(out))
    out.getDefiningOp()->emitWarning()
        << "--loss=" << kind.name
        << " takes log-probabilities or probabilities, but the output is that "
           "of a linear layer: --loss=cross_entropy"
        << (kind.name == "kl" ? " with --soft-labels" : "") << " takes logits";
}

const LossKind *findLossKind(StringRef name) {
  for (const LossKind *kind : allKinds())
    if (kind->name == name)
      return kind;
  return nullptr;
}

std::vector<std::string> lossKindNames() {
  std::vector<std::string> names;
  for (const LossKind *kind : allKinds())
    names.push_back(kind->name.str());
  return names;
}

Expr classHits(Expr logits, Expr labels) {
  Expr best = logits.make<ir::ArgMaxOp>(logits.v, ir::Ints{1}, false);
  return (best == labels).cast(Float32Type::get(labels.b->getContext()));
}

std::optional<int64_t> classAxis(int64_t rank, const LossOptions &options) {
  if (!options.classAxis)
    return rank >= 4 ? 1 : rank - 1;
  const int64_t axis = *options.classAxis + (*options.classAxis < 0) * rank;
  if (axis < 1 || axis >= rank)
    return std::nullopt;
  return axis;
}

} // namespace dlc
