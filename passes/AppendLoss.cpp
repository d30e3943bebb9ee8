// Makes @train_step and @eval_step of @predict.
//   1. The kind of loss decides the labels' type and which value counts as the
//   logits: what the model's last softmax or
//      sigmoid is applied to, because the losses contain these in a stable
//      form.
//   2. Both functions are copies of @predict with the labels as last argument;
//   what the logits do not need is dropped.
//   3. Each returns what the kind's formula gives: the mean over rows, or the
//   rows.
#include "passes/Passes.h"
#include "passes/Step.h"

using namespace mlir;
using dlc::ir::elementType;
using dlc::ir::Expr;
using dlc::ir::tensorType;

namespace dlc {
#define GEN_PASS_DEF_APPENDLOSS
#include "passes/Passes.h.inc"
namespace {

/// Both [R]; `correct` is 1 for a hit and 0 otherwise, null for losses that
/// know no hits.
struct Rows {
  Value loss, correct;
};

/// One row of the table of losses.
struct LossKind {
  StringRef name;
  /// The labels' type for an output of type `out`; null, with an error, when
  /// that does not fit.
  RankedTensorType (*labels)(func::FuncOp predict, RankedTensorType out);
  /// The value below the op that this loss contains; `out` itself when there is
  /// none.
  Value (*logits)(Value out);
  Rows (*rows)(Expr logits, Expr labels);
};

/// Mean over everything but the first dimension.
Expr rowMeans(Expr x) {
  return x.rank() > 1 ? x.mean(ir::axesBetween(1, x.rank())) : x;
}

RankedTensorType classLabels(func::FuncOp predict, RankedTensorType out) {
  int64_t classes = out.getRank() ? out.getShape().back() : 0;
  if (out.getRank() >= 2 && classes >= 2)
    return RankedTensorType::get({out.getNumElements() / classes},
                                 IntegerType::get(out.getContext(), 64));
  auto error = predict.emitError()
               << "cross_entropy expects an output of shape [rows, classes], "
                  "found "
               << out;
  error.attachNote() << (classes == 1 ? "use --loss=bce for one logit a row"
                                      : "use --loss=mse for numbers");
  return nullptr;
}
Value belowSoftmax(Value out) {
  int64_t last = tensorType(out).getRank() - 1;
  if (auto op = out.getDefiningOp<ir::SoftmaxOp>();
      op && (int64_t)op.getAxis() == last)
    return op.getX();
  if (auto op = out.getDefiningOp<ir::LogSoftmaxOp>();
      op && (int64_t)op.getAxis() == last)
    return op.getX();
  return out;
}
Expr classHits(Expr logits, Expr labels) {
  Expr best = logits.make<ir::ArgMaxOp>(logits.v, ir::Ints{1}, false);
  return compare(ir::Predicate::eq, best, labels)
      .cast(Float32Type::get(labels.b->getContext()));
}
Rows crossEntropy(Expr x, Expr labels) {
  x = x.reshape({labels.shape()[0], x.shape().back()});
  Expr loss = x.make<ir::SoftmaxCrossEntropyOp>(x.v, labels.v, IntegerAttr());
  return {loss, classHits(x, labels)};
}

RankedTensorType valueLabels(func::FuncOp predict, RankedTensorType out) {
  if (out.getRank() >= 1)
    return ir::isHalf(out.getElementType())
               ? out.clone(Float32Type::get(out.getContext()))
               : out;
  predict.emitError() << "expected an output with a row per sample, found "
                      << out;
  return nullptr;
}
Value itself(Value out) { return out; }
Rows squaredError(Expr x, Expr labels) {
  Expr d = x - labels;
  return {rowMeans(d * d), nullptr};
}

Value belowSigmoid(Value out) {
  auto op = out.getDefiningOp<ir::SigmoidOp>();
  return op ? op.getX() : out;
}
Rows binaryCrossEntropy(Expr x, Expr labels) {
  Expr loss = x.make<ir::SoftplusOp>(x.v) - x * labels;
  Expr right =
      compare(ir::Predicate::eq, compare(ir::Predicate::gt, x, x.scalar(0)),
              compare(ir::Predicate::gt, labels, labels.scalar(0.5)));
  return {rowMeans(loss), rowMeans(right.cast(elementType(loss)))};
}

const LossKind kinds[] = {
    {"cross_entropy", classLabels, belowSoftmax, crossEntropy},
    {"mse", valueLabels, itself, squaredError},
    {"bce", valueLabels, belowSigmoid, binaryCrossEntropy},
};

const LossKind *findKind(StringRef name) {
  for (const LossKind &kind : kinds)
    if (kind.name == name)
      return &kind;
  return nullptr;
}

/// A copy of @predict without results; `outputs` are the values that it
/// returned.
func::FuncOp copyOf(func::FuncOp predict, StringRef name,
                    SmallVectorImpl<Value> &outputs) {
  auto f = cast<func::FuncOp>(predict->clone());
  f.setName(name);
  predict->getParentOfType<ModuleOp>().push_back(f);
  Operation *end = f.front().getTerminator();
  outputs.assign(end->operand_begin(), end->operand_end());
  end->setOperands({});
  f.removeResAttrsAttr();
  f.setType(FunctionType::get(f.getContext(), f.getArgumentTypes(), {}));
  return f;
}

void nameArgument(func::FuncOp f, unsigned i, StringRef name) {
  f.setArgAttr(i, "dlc.name", StringAttr::get(f.getContext(), name));
}
/// "y" is the labels' name; an input that happens to have it becomes "x".
BlockArgument addLabels(func::FuncOp f, RankedTensorType type) {
  for (unsigned i = 0; i < f.getNumArguments(); ++i)
    if (auto name = f.getArgAttrOfType<StringAttr>(i, "dlc.name");
        name && name.getValue() == "y")
      nameArgument(f, i, "x");
  unsigned last = f.getNumArguments();
  (void)f.insertArgument(last, type, {}, f.getLoc());
  nameArgument(f, last, "y");
  return f.getArgument(last);
}

void markLoss(Operation &op) {
  if (isa<ir::CastPolicyInterface>(op))
    op.setAttr(kLossMark, UnitAttr::get(op.getContext()));
}
/// In a graph that computes its loss, the loss is what no product follows.
void markTail(func::FuncOp f) {
  llvm::DenseSet<Operation *> before; // ops with a product below them
  for (Operation &op : llvm::reverse(f.front())) {
    auto isProduct = [](Operation *user) {
      auto policy = dyn_cast<ir::CastPolicyInterface>(user);
      return policy && policy.castPolicy(false) == ir::CastPolicy::Allow;
    };
    if (llvm::any_of(op.getUsers(), [&](Operation *user) {
          return isProduct(user) || before.contains(user);
        }))
      before.insert(&op);
    else if (!isProduct(&op))
      markLoss(op);
  }
}

/// What both functions end in: the mean for training, the rows for evaluation.
void finish(func::FuncOp f, bool train, Expr loss, Value correct) {
  if (train)
    addResult(f,
              loss.rank() ? Value(loss.mean(ir::axesBetween(0, loss.rank())))
                          : loss.v,
              "loss");
  else
    addResult(f,
              loss.rank() == 1 ? loss
                               : loss.reshape({loss.type().getNumElements()}),
              "row_loss");
  if (!train && correct)
    addResult(f, correct, "row_correct");
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(f.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

void append(func::FuncOp predict, const LossKind &kind,
            RankedTensorType labelType, bool train) {
  SmallVector<Value> outputs;
  func::FuncOp f = copyOf(predict, train ? "train_step" : "eval_step", outputs);
  BlockArgument y = addLabels(f, labelType);
  OpBuilder b(f.front().getTerminator());
  llvm::DenseSet<Operation *> model;
  for (Operation &op : f.front())
    model.insert(&op);
  Expr logits(b, outputs[0].getLoc(), kind.logits(outputs[0]));
  if (ir::isHalf(elementType(logits)))
    logits = logits.cast(b.getF32Type());
  Rows rows = kind.rows(logits, Expr(b, logits.loc, y));
  finish(f, train, Expr(b, logits.loc, rows.loss), rows.correct);
  for (Operation &op : f.front())
    if (!model.contains(&op))
      markLoss(op);
}

/// A loss that the graph computes is taken as it is. Its rows are those of the
/// cross entropy that it comes from; without one, the loss is the only row.
void appendFromGraph(func::FuncOp predict, unsigned result, bool train) {
  SmallVector<Value> outputs;
  func::FuncOp f = copyOf(predict, train ? "train_step" : "eval_step", outputs);
  OpBuilder b(f.front().getTerminator());
  Expr loss(b, outputs[result].getLoc(), outputs[result]);
  Value correct;
  auto found = f.getOps<ir::SoftmaxCrossEntropyOp>();
  if (!found.empty()) {
    ir::SoftmaxCrossEntropyOp op = *found.begin();
    Value labels = op.getLabels();
    while (labels.getDefiningOp() &&
           labels.getDefiningOp()->getNumOperands() == 1)
      labels = labels.getDefiningOp()->getOperand(0);
    if (auto argument = dyn_cast<BlockArgument>(labels))
      nameArgument(f, argument.getArgNumber(), "y");
    if (!train) {
      correct = classHits(Expr(b, op.getLoc(), op.getLogits()),
                          Expr(b, op.getLoc(), op.getLabels()));
      loss = Expr(b, op.getLoc(), op.getLoss());
    }
  }
  finish(f, train, loss, correct);
  markTail(f);
}

struct AppendLoss : impl::AppendLossBase<AppendLoss> {
  using AppendLossBase::AppendLossBase;

  void runOnOperation() final {
    func::FuncOp predict = findFunction(getOperation(), "predict");
    if (!predict || failed(run(predict)))
      signalPassFailure();
  }

  LogicalResult run(func::FuncOp predict) {
    bool automatic = kind == "auto";
    const LossKind *chosen =
        findKind(automatic ? "cross_entropy" : StringRef(kind));
    if (!chosen)
      return predict.emitError()
             << "loss '" << kind
             << "' is not known, expected auto, cross_entropy, mse or bce";
    for (unsigned i = 0; i < predict.getNumResults(); ++i)
      if (predict.getResultAttr(i, "dlc.loss") &&
          (automatic || kind == "cross_entropy")) {
        appendFromGraph(predict, i, /*train=*/true);
        appendFromGraph(predict, i, /*train=*/false);
        return success();
      }
    if (predict.getNumResults() == 0)
      return predict.emitError("expected an output to compute the loss from");
    auto out = cast<RankedTensorType>(predict.getResultTypes()[0]);
    if (!out.hasStaticShape() || !isa<FloatType>(out.getElementType()))
      return predict.emitError()
             << "the loss expects a float output of static shape, found "
             << out;
    RankedTensorType labels = chosen->labels(predict, out);
    if (!labels)
      return failure();
    remarkContained(predict, *chosen);
    append(predict, *chosen, labels, /*train=*/true);
    append(predict, *chosen, labels, /*train=*/false);
    return success();
  }

  void remarkContained(func::FuncOp predict, const LossKind &chosen) {
    Value out = predict.front().getTerminator()->getOperand(0);
    if (chosen.logits(out) != out)
      out.getDefiningOp()->emitRemark()
          << "the model ends in "
          << out.getDefiningOp()->getName().stripDialect() << ", which "
          << chosen.name << " contains; training uses what goes into it";
  }
};

} // namespace

std::unique_ptr<Pass> createAppendLoss(const LossOptions &o) {
  return createAppendLoss(AppendLossOptions{o.kind});
}

} // namespace dlc
