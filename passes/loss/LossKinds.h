// SPDX-License-Identifier: Apache-2.0
// The kinds of loss: one table row per kind.
#pragma once

#include "compiler/dialect/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Options.h"

namespace dlc {

/// Per-row results, all [R]. `correct` is 1 for a hit and 0 otherwise, null for
/// losses without hits. The loss is the mean of `loss` or, if `weight` is not
/// null, sum(loss) / sum(weight).
struct LossRows {
  mlir::Value loss, correct, weight{};
};

/// An array that a loss reads from a data file: its labels, whose name is ""
/// here, or another array.
struct LossInput {
  std::string name;
  mlir::RankedTensorType type;
};
struct LossInputs {
  llvm::SmallVector<LossInput> inputs;
  int64_t samples; // the loss has rows per sample
};

using OutputTypes = llvm::ArrayRef<mlir::RankedTensorType>;
using ExprList = llvm::ArrayRef<ir::Expr>;

struct LossKind {
  llvm::StringRef name;
  unsigned outputs; // number of outputs of the model that it takes
  /// The arrays for outputs of these types; failure, with an error, if the
  /// types do not fit.
  llvm::FailureOr<LossInputs> (*inputs)(mlir::func::FuncOp predict,
                                        OutputTypes outs,
                                        const LossOptions &options);
  /// The input of a final op that the loss includes (softmax, sigmoid); `out`
  /// itself if there is no such op.
  mlir::Value (*logits)(mlir::Value out, const LossOptions &options);
  /// `inputs` are in order of LossInputs. Null: the output itself is the loss.
  LossRows (*rows)(ExprList logits, ExprList inputs,
                   const LossOptions &options);
};

/// The kinds of a family, in the order in which help lists them.
using LossFamily = llvm::ArrayRef<LossKind>;
LossFamily overlapLosses();  // dice and focal
LossFamily distanceLosses(); // between several outputs
LossFamily sequenceLosses(); // labels that are not aligned with outputs

/// All kinds.
std::vector<std::string> lossKindNames();

/// A warning if the loss takes log-probabilities, and the output is logits.
void warnOfLogits(const LossKind &kind, mlir::Value out);

/// Null if there is no kind of this name.
const LossKind *findLossKind(llvm::StringRef name);

/// 1 where the largest logit of a row of [R, C] is that of its label in [R].
ir::Expr classHits(ir::Expr logits, ir::Expr labels);

/// The axis of the classes, 0 <= axis < rank: --class-axis, else 1 for rank 4
/// or more and the last for lower ranks; nullopt if the option does not fit.
std::optional<int64_t> classAxis(int64_t rank, const LossOptions &options);

/// Inputs of kinds of one output. `labels` returns the type of the labels, or
/// null with an error.
template <auto labels>
llvm::FailureOr<LossInputs> labelled(mlir::func::FuncOp predict,
                                     OutputTypes outs,
                                     const LossOptions &options) {
  mlir::RankedTensorType type = labels(predict, outs[0], options);
  if (!type)
    return mlir::failure();
  return LossInputs{{{"", type}}, outs[0].getDimSize(0)};
}
template <auto rows>
LossRows rowsOf(ExprList logits, ExprList inputs, const LossOptions &options) {
  return rows(logits[0], inputs[0], options);
}

/// Labels of the output's shape and type, or f32 where the type is 16-bit.
mlir::RankedTensorType valueLabels(mlir::func::FuncOp predict,
                                   mlir::RankedTensorType out,
                                   const LossOptions &options);
/// Class indices: [R] where the classes are the last axis, else the output's
/// shape without that axis; with --soft-labels class probabilities in the
/// output's shape.
mlir::RankedTensorType classLabels(mlir::func::FuncOp predict,
                                   mlir::RankedTensorType out,
                                   const LossOptions &options);
mlir::Value belowSoftmax(mlir::Value out, const LossOptions &options);
mlir::Value belowSigmoid(mlir::Value out, const LossOptions &options);
mlir::Value itself(mlir::Value out, const LossOptions &options);

/// Transposed and reshaped to [R, C], with classes last.
ir::Expr rowsOfClasses(ir::Expr x, const LossOptions &options);
/// Mean over all dimensions but the first.
ir::Expr rowMeans(ir::Expr x);
/// Numbers of the options as a constant [C] of the element type of `like`.
ir::Expr constantOf(ir::Expr like, const std::vector<double> &numbers);
/// Where a label is not in 0, ..., classes - 1.
ir::Expr outsideOf(ir::Expr labels, int64_t classes);

/// Labels [R] of logits [R, C], and which of them are valid.
struct ClassTargets {
  ir::Expr labels;
  std::optional<ir::Expr> ignored, weights; // by --ignore-index

  ClassTargets(ir::Expr x, ir::Expr y, const LossOptions &options);
  /// Labels, with `instead` at ignored rows.
  ir::Expr known(double instead) const;
  /// Cross entropy of each row; 0 at ignored rows.
  ir::SoftmaxCrossEntropyOp crossEntropy(ir::Expr x,
                                         const LossOptions &options) const;
  LossRows rows(ir::Expr x, ir::Expr loss, bool weighs) const;
};

} // namespace dlc
