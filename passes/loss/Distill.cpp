// SPDX-License-Identifier: Apache-2.0
#include "passes/loss/Distill.h"
#include "passes/loss/LossKinds.h"
#include "runtime/base/options/Arguments.h"
#include "runtime/base/options/Nearest.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
namespace {

const Words kKinds = {"kl", "mse"};

Status setArgument(DistillTerm &term, const Argument &argument) {
  const std::string &key = argument.key;
  if (argument.words.size() == 1 && (key == "student" || key == "teacher")) {
    (key == "student" ? term.student : term.teacher) = argument.words[0];
    return {};
  }
  const bool isWeight = key == "weight";
  if (argument.words.size() != 1 ||
      !(isWeight || (term.isKl && key == "temperature")))
    return usageError("{} has no argument '{}={}', only {}weight, student, "
                      "teacher",
                      argument.kind, key, llvm::join(argument.words, ","),
                      term.isKl ? "temperature, " : "");
  auto number =
      parseNumber(argument.words[0], isWeight ? 0 : kAboveZero, kNoLimit);
  DLC_TRY(number.status().withContext(argument.kind + "'s " + key));
  (isWeight ? term.weight : term.temperature) = *number;
  return {};
}

std::string nameOf(DictionaryAttr attributes) {
  auto name = attributes ? attributes.getAs<StringAttr>("dlc.name") : nullptr;
  return name ? name.str() : "";
}

/// The model and its teacher in one function.
class Distiller {
public:
  Distiller(func::FuncOp predict, func::FuncOp teacher, func::FuncOp f,
            ArrayRef<Value> outputs, const StepOptions &options, OpBuilder &b)
      : predict(predict), teacher(teacher), f(f), outputs(outputs),
        options(options), b(b) {}

  FailureOr<std::vector<WeightedLoss>> run(ArrayRef<DistillTerm> terms,
                                           Value present) {
    if (failed(callTeacher()))
      return failure();
    std::vector<WeightedLoss> losses;
    for (const DistillTerm &term : terms) {
      auto rows = rowsOf(term, present);
      if (failed(rows))
        return failure();
      losses.push_back({trainedOfRows(*rows, nullptr, present), term.weight});
      losses.back().loss.name = "distill";
      if (losses.size() > 1)
        losses.back().loss.name += std::to_string(losses.size());
    }
    return losses;
  }

private:
  /// Connects inputs by name, or the single input of both.
  LogicalResult callTeacher() {
    const unsigned count = predict.getNumArguments();
    SmallVector<Value> inputs;
    for (unsigned i = 0; i < teacher.getNumArguments(); ++i) {
      const std::string name = nameOf(teacher.getArgAttrDict(i));
      unsigned at = 0;
      if (count != 1 || teacher.getNumArguments() != 1)
        while (at < count && nameOf(predict.getArgAttrDict(at)) != name)
          ++at;
      if (at == count)
        return predict.emitError()
               << "--teacher: the teacher's input '" << name
               << "' is no input of the model; rename it in the teacher's file";
      if (teacher.getArgumentTypes()[i] != predict.getArgumentTypes()[at])
        return predict.emitError()
               << "--teacher: the teacher's input '" << name << "' is "
               << teacher.getArgumentTypes()[i] << ", that of the model is "
               << predict.getArgumentTypes()[at] << "; both must be alike";
      inputs.push_back(f.getArgument(at));
    }
    auto call = func::CallOp::create(b, f.getLoc(), teacher, inputs);
    known.assign(call.result_begin(), call.result_end());
    return success();
  }

  /// The result of that name, of the model or of the teacher.
  FailureOr<unsigned> find(func::FuncOp of, const std::string &name,
                           StringRef argument) {
    std::vector<std::string> names;
    for (unsigned i = 0; i < of.getNumResults(); ++i) {
      names.push_back(nameOf(of.getResultAttrDict(i)));
      if (name.empty() || names.back() == name)
        return i;
    }
    return predict.emitError()
           << "--distill: " << argument << "=" << name
           << " is no output, there "
           << "are " << llvm::join(names, ", ")
           << (of == predict ? "; --features=NAME makes an inner tensor one"
                             : "");
  }

  /// [samples]: the mean over each sample.
  FailureOr<Expr> rowsOf(const DistillTerm &term, Value present) {
    auto mine = find(predict, term.student, "student"),
         its = find(teacher, term.teacher, "teacher");
    if (failed(mine) || failed(its))
      return failure();
    auto type = cast<RankedTensorType>(predict.getResultTypes()[*mine]),
         other = cast<RankedTensorType>(teacher.getResultTypes()[*its]);
    if (type.getShape() != other.getShape() || type.getRank() < 1 ||
        !isa<FloatType>(type.getElementType()) ||
        !isa<FloatType>(other.getElementType()))
      return predict.emitError()
             << "--distill: output '"
             << nameOf(predict.getResultAttrDict(*mine)) << "' of the model is "
             << type << ", output '" << nameOf(teacher.getResultAttrDict(*its))
             << "' of the teacher " << other
             << "; a loss needs two of one shape";
    const int64_t samples = type.getDimSize(0);
    if (present && samples % ir::tensorType(present).getNumElements() != 0)
      return predict.emitError()
             << "--distill: output '"
             << nameOf(predict.getResultAttrDict(*mine)) << "' has " << samples
             << " rows of " << ir::tensorType(present).getNumElements()
             << " samples, so that samples cannot be left out; compile with "
                "--last-batch=drop";
    Value out = outputs[*mine];
    if (term.isKl) {
      Value end = teacher.front().getTerminator()->getOperand(*its);
      if (belowSoftmax(end, options.loss) != end)
        return predict.emitError()
               << "--distill=kl takes logits, but the teacher's output '"
               << nameOf(teacher.getResultAttrDict(*its))
               << "' is a softmax; name what goes into it by teacher=NAME";
      out = belowSoftmax(out, options.loss);
    }
    Expr x = ir::wide(Expr(b, out.getLoc(), out));
    Expr t = Expr(b, out.getLoc(), known[*its]).cast(ir::elementType(x));
    if (!term.isKl) {
      Expr d = x - t;
      return type.getRank() == 1 ? d * d : rowMeans(d * d);
    }
    if (type.getRank() < 2)
      return predict.emitError()
             << "--distill=kl takes logits of shape [rows, classes], found "
             << type;
    Expr rows = divergence(x, t, term.temperature);
    return rows.reshape({samples, rows.shape()[0] / samples}).mean({1});
  }

  Expr divergence(Expr x, Expr t, double temperature) const {
    auto logOf = [&](Expr logits) {
      Expr rows = rowsOfClasses(logits, options.loss);
      if (temperature != 1)
        rows = rows / temperature;
      return rows.make<ir::LogSoftmaxOp>(rows.v, int64_t(1));
    };
    Expr p = logOf(x), q = logOf(t);
    Expr rows = (exp(q) * (q - p)).sum({1});
    return temperature == 1 ? rows : rows * (temperature * temperature);
  }

  func::FuncOp predict, teacher, f;
  ArrayRef<Value> outputs;
  const StepOptions &options;
  OpBuilder &b;
  SmallVector<Value> known; // results of the teacher
};

} // namespace

Result<std::vector<DistillTerm>> parseDistill(const Words &texts) {
  std::vector<DistillTerm> terms;
  for (const std::string &text : texts) {
    std::string kind = text;
    DLC_ASSIGN(const std::vector<Argument> arguments,
               takeArguments(kind, kKinds));
    if (!llvm::is_contained(kKinds, kind))
      return usageError("expected kl or mse, with arguments in parentheses, "
                        "found '{}'{}",
                        text, suggestion(kind, kKinds));
    DistillTerm term;
    term.isKl = kind == "kl";
    for (const Argument &argument : arguments)
      DLC_TRY(setArgument(term, argument));
    terms.push_back(std::move(term));
  }
  return terms;
}

static FailureOr<std::vector<WeightedLoss>>
distill(func::FuncOp predict, func::FuncOp f, ArrayRef<Value> outputs,
        Value present, const StepOptions &options, OpBuilder &b) {
  auto terms = parseDistill(options.distill.terms);
  if (!terms.ok())
    return predict.emitError() << "--distill: " << terms.status().message();
  if (terms->empty())
    return std::vector<WeightedLoss>();
  func::FuncOp teacher =
      findFunction(predict->getParentOfType<ModuleOp>(), "teacher");
  if (!teacher)
    return failure();
  return Distiller(predict, teacher, f, outputs, options, b)
      .run(*terms, present);
}

LogicalResult addTotal(func::FuncOp predict, func::FuncOp f, Expr total,
                       SmallVector<WeightedLoss> parts, ArrayRef<Value> outputs,
                       Value present, const StepOptions &options) {
  auto further = distill(predict, f, outputs, present, options, *total.b);
  if (failed(further))
    return failure();
  for (const WeightedLoss &part : parts)
    if (!further->empty() && StringRef(part.loss.name).starts_with("distill"))
      return predict.emitError() << "--loss: the loss '" << part.loss.name
                                 << "' has the name of one of --distill; give "
                                    "it another by as=NAME";
  for (const WeightedLoss &part : *further) {
    Expr loss = part.loss.loss;
    total = total + (part.weight == 1 ? loss : loss * part.weight)
                        .cast(ir::elementType(total));
    parts.push_back(part);
  }
  addResult(f, total, "loss");
  SmallVector<TrainedLoss> losses;
  for (const WeightedLoss &part : parts) {
    losses.push_back(part.loss);
    if (part.loss.name.empty())
      continue;
    addResult(f, part.loss.loss, "loss." + part.loss.name);
    if (part.weight != 1)
      f.setResultAttr(f.getNumResults() - 1, kLossWeight,
                      Builder(f.getContext()).getF64FloatAttr(part.weight));
  }
  return divideByAll(f, losses, options);
}

} // namespace dlc
