// SPDX-License-Identifier: Apache-2.0
// Builds @train_step and @eval_step from @predict.
//   1. The kind of loss determines the labels' type and the logits: the operand
//      of the model's final softmax or sigmoid, because losses contain these in
//      a numerically stable form.
//   2. Both functions are copies of @predict with the labels as last arguments;
//      ops that the logits do not need are removed.
//   3. Training returns the mean over rows (TrainingLoss.h), evaluation the
//      rows (LossResults.h).
#include "passes/Passes.h"
#include "passes/Step.h"
#include "passes/loss/Distill.h"
#include "passes/loss/LossKinds.h"
#include "passes/loss/LossResults.h"
#include "passes/loss/LossTerms.h"
#include "passes/loss/ScoredOutput.h"
#include "passes/loss/TrainingLoss.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using dlc::ir::elementType;
using dlc::ir::Expr;
using dlc::ir::tensorType;

namespace dlc {
#define GEN_PASS_DEF_APPENDLOSS
#include "passes/Passes.h.inc"
namespace {

/// A copy of @predict without results; `outputs` are the values it returned.
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
BlockArgument addInput(func::FuncOp f, RankedTensorType type, StringRef name) {
  unsigned last = f.getNumArguments();
  (void)f.insertArgument(last, type, {}, f.getLoc());
  nameArgument(f, last, name);
  return f.getArgument(last);
}

void markLoss(Operation &op) {
  if (isa<ir::CastPolicyInterface>(op))
    op.setAttr(kLossMark, UnitAttr::get(op.getContext()));
}
/// Marks the loss of a graph that computes it: the ops after the last product.
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

/// Names labels that are an argument.
void nameLabels(func::FuncOp f, ir::SoftmaxCrossEntropyOp op) {
  Value labels = op.getLabels();
  while (labels.getDefiningOp() &&
         labels.getDefiningOp()->getNumOperands() == 1)
    labels = labels.getDefiningOp()->getOperand(0);
  if (auto argument = dyn_cast<BlockArgument>(labels))
    nameArgument(f, argument.getArgNumber(), "y");
}

/// Uses a loss that the graph computes; only divisors of its means change. Hits
/// come from its cross entropy.
LogicalResult appendFromGraph(func::FuncOp predict, unsigned result, bool train,
                              const StepOptions &options) {
  SmallVector<Value> outputs;
  func::FuncOp f = copyOf(predict, train ? "train_step" : "eval_step", outputs);
  OpBuilder b(f.front().getTerminator());
  Expr loss(b, outputs[result].getLoc(), outputs[result]);
  ir::SoftmaxCrossEntropyOp op;
  if (auto found = f.getOps<ir::SoftmaxCrossEntropyOp>(); !found.empty())
    op = *found.begin();
  if (op)
    nameLabels(f, op);
  if (train) {
    if (failed(addTotal(predict, f, loss.reshape({}),
                        {{trainedOfGraph(loss, samplesOf(f)), 1}}, outputs,
                        nullptr, options)))
      return failure();
  } else {
    addGraphRows(f, loss, op);
  }
  if (op && !train)
    noteScores(predict, op, outputs);
  eraseUnused(f);
  markTail(f);
  return success();
}

/// A kind of loss on an output or on several outputs.
struct Term {
  const LossKind *kind;
  SmallVector<unsigned> outputs;
  LossInputs takes;
  LossOptions options; // with the class axis, if an output determines it
  double weight = 1;
  std::string name{}; // of a loss in a list
  std::optional<double> label{};

  bool isGraph() const { return !kind->rows; }
  /// Whether the data file has the array.
  bool isGiven(const LossInput &input) const {
    return !label || !input.name.empty();
  }
  std::string nameOf(const LossInput &input) const {
    const std::string plain = input.name.empty() ? "y" : input.name;
    return name.empty() ? plain : plain + "." + name;
  }
  SmallVector<Value> taken(ArrayRef<Value> results) const {
    SmallVector<Value> values;
    for (unsigned output : outputs)
      values.push_back(results[output]);
    return values;
  }
};

/// Builds the rows of a term.
LossRows rowsOfTerm(const Term &term, ArrayRef<Value> outs,
                    ArrayRef<Value> inputs, OpBuilder &b) {
  SmallVector<Expr> all, taken;
  for (Value out : outs)
    all.push_back(
        ir::wide(Expr(b, out.getLoc(), term.kind->logits(out, term.options))));
  for (Value input : inputs)
    taken.push_back(Expr(b, all.front().loc, input));
  return term.kind->rows(all, taken, term.options);
}

/// Builds the loss of a term, for training.
TrainedLoss lossOf(const Term &term, ArrayRef<Value> outs,
                   ArrayRef<Value> inputs, int64_t samples, Value present,
                   OpBuilder &b) {
  if (term.isGraph())
    return trainedOfGraph(Expr(b, outs[0].getLoc(), outs[0]), samples);
  LossRows rows = rowsOfTerm(term, outs, inputs, b);
  return trainedOfRows(Expr(b, outs[0].getLoc(), rows.loss), rows.weight,
                       present);
}

/// A copy of @predict with the labels of all terms.
struct Copy {
  SmallVector<Value> outputs;
  func::FuncOp f;
  SmallVector<SmallVector<Value>> inputs; // per term
  int64_t samples = 1;
  llvm::DenseSet<Operation *> model; // ops of the model

  Copy(func::FuncOp predict, ArrayRef<Term> terms, StringRef name)
      : f(copyOf(predict, name, outputs)) {
    bool isKnown = false;
    for (Operation &op : f.front())
      model.insert(&op);
    OpBuilder b(f.front().getTerminator());
    for (const Term &term : terms) {
      inputs.emplace_back();
      for (const LossInput &input : term.takes.inputs)
        if (term.isGiven(input))
          inputs.back().push_back(addInput(f, input.type, term.nameOf(input)));
        else
          inputs.back().push_back(
              ir::ConstantOp::create(b, f.getLoc(), *term.label, input.type));
      if (!term.isGraph())
        samples = term.takes.samples;
      isKnown |= !term.isGraph();
    }
    if (!isKnown)
      samples = samplesOf(predict);
  }

  /// Marks the ops of the loss.
  void finish() {
    eraseUnused(f);
    for (Operation &op : f.front())
      if (!model.contains(&op))
        markLoss(op);
  }
};

/// The weighted sum of the terms.
LogicalResult appendTraining(func::FuncOp predict, ArrayRef<Term> terms,
                             const StepOptions &options) {
  Copy copy(predict, terms, "train_step");
  func::FuncOp f = copy.f;
  OpBuilder b(f.front().getTerminator());
  Value present;
  if (options.loss.padsLast)
    present =
        addInput(f, RankedTensorType::get({samplesOf(predict)}, b.getF32Type()),
                 kSampleWeight);
  std::optional<Expr> total;
  SmallVector<WeightedLoss> parts;
  for (auto [term, given] : llvm::zip(terms, copy.inputs)) {
    TrainedLoss part =
        lossOf(term, term.taken(copy.outputs), given, copy.samples, present, b);
    part.name = term.name;
    parts.push_back({part, term.weight});
    Expr weighted = term.weight == 1 ? part.loss : part.loss * term.weight;
    total = total ? *total + weighted : weighted;
  }
  if (failed(addTotal(predict, f, *total, std::move(parts), copy.outputs,
                      present, options)))
    return failure();
  copy.finish();
  return success();
}

/// Adds the rows of each term, and the hits of the first term that has hits.
void appendEvaluation(func::FuncOp predict, ArrayRef<Term> terms) {
  Copy copy(predict, terms, "eval_step");
  OpBuilder b(copy.f.front().getTerminator());
  LossRows judged{};
  for (auto [term, given] : llvm::zip(terms, copy.inputs)) {
    SmallVector<Value> outs = term.taken(copy.outputs);
    if (term.isGraph()) {
      addMeans(copy.f, graphMeans(outs[0], copy.samples), term.weight,
               term.name, copy.samples);
      continue;
    }
    LossRows rows = rowsOfTerm(term, outs, given, b);
    addMeans(copy.f, LossMean{rows.loss, rows.weight}, term.weight, term.name,
             copy.samples);
    if (!judged.correct)
      judged = rows;
  }
  if (judged.correct)
    addHits(copy.f, judged.correct, judged.weight);
  copy.finish();
}

struct AppendLoss : impl::AppendLossBase<AppendLoss> {
  AppendLoss() {
    reads<&StepOptions::loss, &StepOptions::distill, &StepOptions::accumulate,
          &StepOptions::allReduce>();
  }

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
    if (failed(makeRoom(predict, *terms)) ||
        (options.loss.padsLast && failed(checkPads(predict, *terms))))
      return failure();
    auto loss = findGraphLoss(predict, kind());
    if (kind() == "auto")
      remarkNumbers(predict, loss);
    if (loss) {
      if (failed(appendFromGraph(predict, *loss, /*train=*/true, options)) ||
          failed(appendFromGraph(predict, *loss, /*train=*/false, options)))
        return failure();
    } else {
      if (failed(appendTraining(predict, *terms, options)))
        return failure();
      appendEvaluation(predict, *terms);
    }
    for (const Term &term : *terms)
      if (!term.isGraph() && term.outputs.size() == 1 && !term.label)
        noteScores(predict, *term.kind, term.outputs[0],
                   term.nameOf(term.takes.inputs[0]), term.options);
    return success();
  }

  /// --last-batch=pad: padding can be excluded from a mean over rows, but not
  /// from a scalar that the graph computed from all samples.
  LogicalResult checkPads(func::FuncOp predict, ArrayRef<Term> terms) {
    for (unsigned i = 0; i < predict.getNumArguments(); ++i)
      if (auto name = predict.getArgAttrOfType<StringAttr>(i, "dlc.name");
          name && name.getValue() == kSampleWeight)
        return predict.emitError()
               << "input '" << name.getValue()
               << "' has the name of what --last-batch=pad adds; rename it in "
                  "the model";
    for (const Term &term : terms)
      if (!term.isGraph() && term.takes.samples % samplesOf(predict) != 0)
        return predict.emitError()
               << "--last-batch=pad: the loss has " << term.takes.samples
               << " rows of " << samplesOf(predict)
               << " samples, so that samples cannot be left out; compile with "
                  "--last-batch=drop";
    if (findGraphLoss(predict, kind()) ||
        llvm::any_of(terms, [](const Term &term) { return term.isGraph(); }))
      return predict.emitError()
             << "the graph computes its loss itself, of a batch as a whole, so "
                "that no samples of it can be left out (--last-batch=pad): "
                "name an output and a kind, as in --loss=logits:cross_entropy, "
                "or compile with --last-batch=drop";
    return success();
  }

  /// Renames an input that has the labels' name to "x".
  LogicalResult makeRoom(func::FuncOp predict, ArrayRef<Term> terms) {
    auto find = [&](StringRef name) -> std::optional<unsigned> {
      for (unsigned i = 0; i < predict.getNumArguments(); ++i)
        if (auto own = predict.getArgAttrOfType<StringAttr>(i, "dlc.name");
            own && own.getValue() == name)
          return i;
      return std::nullopt;
    };
    for (const Term &term : terms)
      for (const LossInput &input : term.takes.inputs) {
        if (!term.isGiven(input))
          continue;
        auto clash = find(term.nameOf(input));
        if (!clash)
          continue;
        if (find("x"))
          return predict.emitError()
                 << "input '" << term.nameOf(input)
                 << "' has the name of the labels; rename it in the model";
        nameArgument(predict, *clash, "x");
      }
    return success();
  }

  using Terms = FailureOr<SmallVector<Term, 0>>;

  /// The loss of the first output; empty if the graph has its own loss.
  Terms theTerm(func::FuncOp predict) {
    const LossKind &chosen =
        *findLossKind(kind() == "auto" ? "cross_entropy" : kind());
    if (findGraphLoss(predict, kind()))
      return SmallVector<Term, 0>();
    if (predict.getNumResults() == 0)
      return predict.emitError("expected an output to compute the loss from");
    if (predict.getNumResults() < chosen.outputs)
      return predict.emitError()
             << chosen.name << " is a loss of " << chosen.outputs
             << " outputs, found " << predict.getNumResults();
    SmallVector<unsigned> outputs;
    for (unsigned i = 0; i < chosen.outputs; ++i)
      outputs.push_back(i);
    FailureOr<Term> term = makeTerm(predict, chosen, outputs);
    if (failed(term))
      return failure();
    return SmallVector<Term, 0>{*term};
  }

  /// OUTPUT[+OUTPUT]:KIND[:WEIGHT][:label=NUMBER][:as=NAME],...
  Terms readTerms(func::FuncOp predict) {
    std::string wrong;
    auto given = parseLossTerms(kind(), wrong);
    SmallVector<Term, 0> terms;
    for (const LossTerm &text : *given) {
      const LossKind &chosen = *findLossKind(text.kind);
      auto outputs = findOutputs(predict, text.output, chosen);
      if (failed(outputs))
        return failure();
      FailureOr<Term> term = makeTerm(predict, chosen, *outputs);
      if (failed(term))
        return failure();
      if (text.label && failed(checkLabel(predict, *term)))
        return failure();
      term->weight = text.weight;
      term->name = text.name;
      term->label = text.label;
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

  /// Outputs of a kind that takes several are separated by '+'.
  FailureOr<SmallVector<unsigned>>
  findOutputs(func::FuncOp predict, StringRef text, const LossKind &chosen) {
    SmallVector<StringRef> names{text};
    if (chosen.outputs > 1) {
      names.clear();
      text.split(names, '+');
    }
    if (names.size() != chosen.outputs)
      return predict.emitError()
             << chosen.name << " is a loss of " << chosen.outputs
             << " outputs, OUTPUT+OUTPUT..., found '" << text << "'";
    SmallVector<unsigned> outputs;
    for (StringRef name : names) {
      FailureOr<unsigned> output = findOutput(predict, name);
      if (failed(output))
        return failure();
      outputs.push_back(*output);
    }
    return outputs;
  }

  FailureOr<Term> makeTerm(func::FuncOp predict, const LossKind &chosen,
                           ArrayRef<unsigned> outputs) {
    SmallVector<RankedTensorType> types;
    for (unsigned output : outputs) {
      auto out = cast<RankedTensorType>(predict.getResultTypes()[output]);
      if (!out.hasStaticShape() || !isa<FloatType>(out.getElementType()))
        return predict.emitError()
               << "the loss expects a float output of static shape, found "
               << out;
      types.push_back(out);
    }
    const LossOptions loss =
        withClassAxis(predict, chosen, outputs[0], options.loss);
    auto takes = chosen.inputs(predict, types, loss);
    if (failed(takes))
      return failure();
    for (unsigned output : outputs)
      remarkContained(predict, chosen, output, loss);
    return Term{&chosen, llvm::to_vector(outputs), *takes, loss};
  }

  /// label=NUMBER requires labels that are scalars.
  LogicalResult checkLabel(func::FuncOp predict, const Term &term) {
    for (const LossInput &input : term.takes.inputs)
      if (input.name.empty() && isa<FloatType>(input.type.getElementType()))
        return success();
    return predict.emitError()
           << "label=NUMBER needs a loss whose labels are numbers; those of "
           << term.kind->name << " are the data's";
  }

  /// Checks that losses can be added per sample; a loss of the graph is the
  /// same for each sample.
  LogicalResult checkSamples(func::FuncOp predict, const Term &a,
                             const Term &b) {
    if (a.isGraph() || b.isGraph() || a.takes.samples == b.takes.samples)
      return success();
    return predict.emitError()
           << "several losses expect outputs with one row a sample, found "
           << a.takes.samples << " rows of '" << a.name << "' and "
           << b.takes.samples << " of '" << b.name << "'";
  }

  void remarkContained(func::FuncOp predict, const LossKind &chosen,
                       unsigned output, const LossOptions &loss) {
    Value out = predict.front().getTerminator()->getOperand(output);
    warnOfLogits(chosen, out);
    if (chosen.logits(out, loss) != out)
      out.getDefiningOp()->emitRemark()
          << "the model ends in "
          << out.getDefiningOp()->getName().stripDialect() << ", which "
          << chosen.name << " contains; training uses what goes into it";
  }
};

} // namespace

} // namespace dlc
