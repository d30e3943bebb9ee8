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
#include "passes/loss/LossTerms.h"
#include "llvm/ADT/StringExtras.h"

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
BlockArgument addLabels(func::FuncOp f, RankedTensorType type,
                        StringRef label = "y") {
  unsigned last = f.getNumArguments();
  (void)f.insertArgument(last, type, {}, f.getLoc());
  nameArgument(f, last, label);
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

/// A kind of loss on an output.
struct Term {
  const LossKind *kind;
  unsigned output;
  RankedTensorType labels;
  double weight = 1;
  std::string name{}; // the output's, if the loss is one of a list

  std::string label() const { return name.empty() ? "y" : "y." + name; }
};

/// The mean of each sample's rows.
Expr perSample(Expr rows, int64_t samples) {
  int64_t count = rows.type().getNumElements();
  return count == samples ? rows.reshape({samples})
                          : rows.reshape({samples, count / samples}).mean({1});
}

/// The weighted sum of the terms, for evaluation row by row: rows of several
/// terms are their samples. Hits are those of the first term that knows any.
void append(func::FuncOp predict, ArrayRef<Term> terms, bool train) {
  SmallVector<Value> outputs;
  func::FuncOp f = copyOf(predict, train ? "train_step" : "eval_step", outputs);
  SmallVector<BlockArgument> labels;
  for (const Term &term : terms)
    labels.push_back(addLabels(f, term.labels, term.label()));
  OpBuilder b(f.front().getTerminator());
  llvm::DenseSet<Operation *> model;
  for (Operation &op : f.front())
    model.insert(&op);
  std::optional<Expr> total;
  Value correct;
  SmallVector<Expr> parts;
  for (auto [term, y] : llvm::zip(terms, labels)) {
    Expr logits(b, outputs[term.output].getLoc(),
                term.kind->logits(outputs[term.output]));
    if (ir::isHalf(elementType(logits)))
      logits = logits.cast(b.getF32Type());
    int64_t samples = tensorType(outputs[term.output]).getDimSize(0);
    auto asRows = [&](Value rows) {
      Expr each(b, logits.loc, rows);
      return terms.size() == 1 ? each : perSample(each, samples);
    };
    Rows rows = term.kind->rows(logits, Expr(b, logits.loc, y));
    Expr loss = asRows(rows.loss);
    parts.push_back(train ? loss.mean(ir::axesBetween(0, loss.rank())) : loss);
    Expr part = parts.back();
    Expr weighted = term.weight == 1 ? part : part * term.weight;
    total = total ? *total + weighted : weighted;
    if (!correct && rows.correct)
      correct = asRows(rows.correct);
  }
  finish(f, train, *total, correct);
  for (auto [term, part] : llvm::zip(terms, parts))
    if (train && !term.name.empty())
      addResult(f, part, "loss." + term.name);
  for (Operation &op : f.front())
    if (!model.contains(&op))
      markLoss(op);
}

struct AppendLoss : impl::AppendLossBase<AppendLoss> {
  AppendLoss() { reads<&StepOptions::loss>(); }

  void runOnOperation() final {
    func::FuncOp predict = findFunction(getOperation(), "predict");
    if (!predict || failed(run(predict)))
      signalPassFailure();
  }

  const std::string &kind() const { return options.loss.kind; }

  LogicalResult run(func::FuncOp predict) {
    auto terms = isLossList(kind()) ? readTerms(predict) : theTerm(predict);
    if (failed(terms))
      return failure();
    if (failed(makeRoom(predict, *terms)))
      return failure();
    for (bool train : {true, false})
      if (auto loss = graphLoss(predict))
        appendFromGraph(predict, *loss, train);
      else
        append(predict, *terms, train);
    return success();
  }

  /// An input that happens to have the labels' name becomes "x".
  LogicalResult makeRoom(func::FuncOp predict, ArrayRef<Term> terms) {
    auto find = [&](StringRef name) -> std::optional<unsigned> {
      for (unsigned i = 0; i < predict.getNumArguments(); ++i)
        if (auto own = predict.getArgAttrOfType<StringAttr>(i, "dlc.name");
            own && own.getValue() == name)
          return i;
      return std::nullopt;
    };
    for (const Term &term : terms) {
      auto clash = find(term.label());
      if (!clash)
        continue;
      if (find("x"))
        return predict.emitError()
               << "input '" << term.label()
               << "' has the name of the labels; rename it in the model";
      nameArgument(predict, *clash, "x");
    }
    return success();
  }

  using Terms = FailureOr<SmallVector<Term>>;

  /// The result that the graph has computed as a loss, if it is what is asked
  /// for.
  std::optional<unsigned> graphLoss(func::FuncOp predict) {
    if (kind() == "auto" || kind() == "cross_entropy")
      for (unsigned i = 0; i < predict.getNumResults(); ++i)
        if (predict.getResultAttr(i, "dlc.loss"))
          return i;
    return std::nullopt;
  }

  /// The loss of the first output; none if the graph has its own.
  Terms theTerm(func::FuncOp predict) {
    const LossKind &chosen =
        *findKind(kind() == "auto" ? "cross_entropy" : kind());
    if (graphLoss(predict))
      return SmallVector<Term>();
    if (predict.getNumResults() == 0)
      return predict.emitError("expected an output to compute the loss from");
    FailureOr<Term> term = makeTerm(predict, chosen, 0);
    if (failed(term))
      return failure();
    return SmallVector<Term>{*term};
  }

  /// OUTPUT:KIND[:WEIGHT],...
  Terms readTerms(func::FuncOp predict) {
    std::string wrong;
    auto given = parseLossTerms(kind(), wrong);
    SmallVector<Term> terms;
    for (const LossTerm &text : *given) {
      FailureOr<unsigned> output = findOutput(predict, text.output);
      if (failed(output))
        return failure();
      FailureOr<Term> term = makeTerm(predict, *findKind(text.kind), *output);
      if (failed(term))
        return failure();
      term->weight = text.weight;
      term->name = text.output;
      if (!terms.empty() && failed(checkSamples(predict, terms[0], *term)))
        return failure();
      terms.push_back(*term);
    }
    return terms;
  }

  FailureOr<unsigned> findOutput(func::FuncOp predict, StringRef name) {
    SmallVector<StringRef> known;
    for (unsigned i = 0; i < predict.getNumResults(); ++i) {
      auto attr = predict.getResultAttrOfType<StringAttr>(i, "dlc.name");
      if (attr && attr.getValue() == name)
        return i;
      if (attr)
        known.push_back(attr);
    }
    return predict.emitError()
           << "there is no output '" << name
           << "' to compute a loss of, there are " << llvm::join(known, ", ");
  }

  FailureOr<Term> makeTerm(func::FuncOp predict, const LossKind &chosen,
                           unsigned output) {
    auto out = cast<RankedTensorType>(predict.getResultTypes()[output]);
    if (!out.hasStaticShape() || !isa<FloatType>(out.getElementType()))
      return predict.emitError()
             << "the loss expects a float output of static shape, found "
             << out;
    RankedTensorType labels = chosen.labels(predict, out);
    if (!labels)
      return failure();
    remarkContained(predict, chosen, output);
    return Term{&chosen, output, labels};
  }

  /// Several losses are added up sample by sample.
  LogicalResult checkSamples(func::FuncOp predict, const Term &a,
                             const Term &b) {
    auto samples = [&](const Term &term) {
      auto type = cast<RankedTensorType>(predict.getResultTypes()[term.output]);
      return type.getDimSize(0);
    };
    if (samples(a) == samples(b))
      return success();
    return predict.emitError()
           << "several losses expect outputs with one row a sample, found "
           << samples(a) << " rows of '" << a.name << "' and " << samples(b)
           << " of '" << b.name << "'";
  }

  void remarkContained(func::FuncOp predict, const LossKind &chosen,
                       unsigned output) {
    Value out = predict.front().getTerminator()->getOperand(output);
    if (chosen.logits(out) != out)
      out.getDefiningOp()->emitRemark()
          << "the model ends in "
          << out.getDefiningOp()->getName().stripDialect() << ", which "
          << chosen.name << " contains; training uses what goes into it";
  }
};

} // namespace

} // namespace dlc
