// SPDX-License-Identifier: Apache-2.0
#include "passes/loss/ScoredOutput.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace dlc {
namespace {

constexpr char kScores[] = "dlc.scores";

void note(func::FuncOp predict, unsigned output, StringRef labels,
          StringRef task, int64_t axis, std::optional<int64_t> ignored,
          bool probabilities) {
  auto module = predict->getParentOfType<ModuleOp>();
  auto name = predict.getResultAttrOfType<StringAttr>(output, "dlc.name");
  if (!name || module->hasAttr(kScores))
    return;
  Builder b(predict.getContext());
  SmallVector<NamedAttribute> fields = {
      b.getNamedAttr("output", name),
      b.getNamedAttr("labels", b.getStringAttr(labels)),
      b.getNamedAttr("task", b.getStringAttr(task)),
      b.getNamedAttr("axis", b.getI64IntegerAttr(axis)),
      b.getNamedAttr("probabilities", b.getBoolAttr(probabilities))};
  if (ignored)
    fields.push_back(b.getNamedAttr("ignore", b.getI64IntegerAttr(*ignored)));
  module->setAttr(kScores, b.getDictionaryAttr(fields));
}

/// The operand of ops that change neither values nor the memory order of rows.
Value belowViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ir::ReshapeOp, ir::CastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// [N, C, 1, T] as [N, C, T].
bool keepsFeatures(ir::ReshapeOp view) {
  const auto from = ir::tensorType(view.getX()),
             to = ir::tensorType(view.getY());
  return from.getRank() > 2 && to.getRank() > 2 &&
         from.getShape().take_front(2) == to.getShape().take_front(2);
}

/// The feature axis of the layer that computes `out`, or of a softmax after it;
/// nullopt if none is found.
std::optional<int64_t> featureAxis(Value out) {
  Operation *op = out.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (isa<ir::ConvOp>(op))
    return 1;
  if (isa<ir::MatmulOp>(op))
    return ir::tensorType(out).getRank() - 1;
  if (auto softmax = dyn_cast<ir::SoftmaxOp>(op))
    return softmax.getAxis();
  if (auto softmax = dyn_cast<ir::LogSoftmaxOp>(op))
    return softmax.getAxis();
  if (auto view = dyn_cast<ir::ReshapeOp>(op))
    return keepsFeatures(view) && featureAxis(view.getX()) == 1
               ? std::optional<int64_t>(1)
               : std::nullopt;
  if (auto turned = dyn_cast<ir::TransposeOp>(op)) {
    const auto axis = featureAxis(turned.getX());
    for (auto [to, from] : llvm::enumerate(turned.getPerm()))
      if (axis == from)
        return int64_t(to);
    return std::nullopt;
  }
  for (Value operand : op->getOperands())
    if (ir::isElementwise(op) &&
        ir::tensorType(operand).getShape() == ir::tensorType(out).getShape())
      return featureAxis(operand);
  return std::nullopt;
}

} // namespace

LossOptions withClassAxis(func::FuncOp predict, const LossKind &kind,
                          unsigned output, LossOptions options) {
  Value out = predict.front().getTerminator()->getOperand(output);
  const auto type = ir::tensorType(out);
  if (options.classAxis || type.getRank() != 3 ||
      !llvm::is_contained({"cross_entropy", "nll", "focal", "dice"},
                          kind.name) ||
      featureAxis(out) != 1)
    return options;
  options.classAxis = 1;
  predict.emitRemark() << "classes are axis 1 of " << type
                       << ", as in the layer that computes it; --class-axis=2 "
                          "if they are last";
  return options;
}

void noteScores(func::FuncOp predict, const LossKind &kind, unsigned output,
                StringRef labels, const LossOptions &options) {
  auto type = cast<RankedTensorType>(predict.getResultTypes()[output]);
  const int64_t rank = type.getRank();
  LossOptions plain = options;
  std::string task = llvm::StringSwitch<std::string>(kind.name)
                         .Cases({"cross_entropy", "nll", "focal", "dice"},
                                options.softLabels ? "" : "classes")
                         .Cases({"bce", "binary_focal"}, "binary")
                         .Cases({"mse", "l1", "smooth_l1", "huber"}, "values")
                         .Default("");
  if (task != "classes")
    plain.classAxis.reset();
  const auto axis = classAxis(rank, plain);
  if (task.empty() || (task == "classes" && (rank < 2 || !axis)))
    return;
  if (task == "classes" && type.getDimSize(*axis) == 1)
    task = "binary";
  Value out = predict.front().getTerminator()->getOperand(output);
  Value below = kind.logits(out, options);
  const bool probabilities =
      below != out && !isa<ir::LogSoftmaxOp>(out.getDefiningOp());
  note(predict, output, labels, task, rank < 2 ? -1 : *axis,
       task == "classes" ? options.ignoreIndex : std::nullopt, probabilities);
}

void noteScores(func::FuncOp predict, ir::SoftmaxCrossEntropyOp op,
                ArrayRef<Value> outputs) {
  if (!isa<BlockArgument>(belowViews(op.getLabels())))
    return;
  std::optional<int64_t> ignored;
  if (auto index = op.getIgnoreIndex())
    ignored = *index;
  const Value logits = belowViews(op.getLogits());
  for (auto [i, output] : llvm::enumerate(outputs)) {
    auto type = cast<RankedTensorType>(output.getType());
    if (belowViews(output) == logits && type.getRank() >= 2 &&
        type.getShape().back() == ir::tensorType(op.getLogits()).getDimSize(1))
      return note(predict, unsigned(i), "y", "classes", type.getRank() - 1,
                  ignored, false);
  }
}

} // namespace dlc
