// SPDX-License-Identifier: Apache-2.0
// The kinds of loss that a model's outputs can have: one row of a table each.
#pragma once

#include "compiler/dialect/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Options.h"

namespace dlc {

/// All [R]. `correct` is 1 for a hit and 0 otherwise, null for losses that know
/// no hits. The loss is the mean of `loss`, or its sum over that of `weight`
/// where that is not null.
struct LossRows {
  mlir::Value loss, correct, weight{};
};

/// What a loss takes of a data file: its labels, whose name is "" here, or
/// something beside them.
struct LossInput {
  std::string name;
  mlir::RankedTensorType type;
};
struct LossInputs {
  llvm::SmallVector<LossInput> inputs;
  int64_t samples; // the loss has rows for each
};

using OutputTypes = llvm::ArrayRef<mlir::RankedTensorType>;
using ExprList = llvm::ArrayRef<ir::Expr>;

struct LossKind {
  llvm::StringRef name;
  unsigned outputs; // of the model, that it takes
  /// For outputs of these types, as many as it takes; failure, with an error,
  /// when they do not fit.
  llvm::FailureOr<LossInputs> (*inputs)(mlir::func::FuncOp predict,
                                        OutputTypes outs,
                                        const LossOptions &options);
  /// The value below the op that this loss contains; `out` itself when there is
  /// none.
  mlir::Value (*logits)(mlir::Value out, const LossOptions &options);
  /// `inputs` are in the order of LossInputs. No function: the output is the
  /// loss.
  LossRows (*rows)(ExprList logits, ExprList inputs,
                   const LossOptions &options);
};

/// The kinds of a family, in the order in which help names them.
using LossFamily = llvm::ArrayRef<LossKind>;
LossFamily overlapLosses();  // dice and focal
LossFamily distanceLosses(); // between several outputs
LossFamily sequenceLosses(); // of labels that no output is aligned with

/// All kinds.
std::vector<std::string> lossKindNames();

/// Null if there is none of this name.
const LossKind *findLossKind(llvm::StringRef name);

/// 1 where the largest of a row's logits [R, C] is its label's [R].
ir::Expr classHits(ir::Expr logits, ir::Expr labels);

/// 0 <= axis < rank of the classes: --class-axis, else 1 from rank 4 on and the
/// last below; nothing if the option does not fit.
std::optional<int64_t> classAxis(int64_t rank, const LossOptions &options);

/// For kinds of one output: `labels` gives their type or null, with an error.
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

/// What families share. Numbers as the output's, in f32 where that is half.
mlir::RankedTensorType valueLabels(mlir::func::FuncOp predict,
                                   mlir::RankedTensorType out,
                                   const LossOptions &options);
/// Class numbers: of rows [R] where the classes are last, else in the output's
/// shape without them; with soft labels a share of each class, in the output's
/// shape.
mlir::RankedTensorType classLabels(mlir::func::FuncOp predict,
                                   mlir::RankedTensorType out,
                                   const LossOptions &options);
mlir::Value belowSoftmax(mlir::Value out, const LossOptions &options);
mlir::Value belowSigmoid(mlir::Value out, const LossOptions &options);
mlir::Value itself(mlir::Value out, const LossOptions &options);

/// As [R, C], classes last.
ir::Expr rowsOfClasses(ir::Expr x, const LossOptions &options);
/// Mean over everything but the first dimension.
ir::Expr rowMeans(ir::Expr x);
/// Numbers of the options as a constant [C] of `like`'s type.
ir::Expr constantOf(ir::Expr like, const std::vector<double> &numbers);
/// Where a label is none of 0, ..., classes - 1.
ir::Expr outsideOf(ir::Expr labels, int64_t classes);

/// Labels [R] of logits [R, C], and which count.
struct ClassTargets {
  ir::Expr labels;
  std::optional<ir::Expr> ignored, weights; // of --ignore-index; 0 if ignored

  ClassTargets(ir::Expr x, ir::Expr y, const LossOptions &options);
  /// Labels, `instead` where they are ignored.
  ir::Expr known(double instead) const;
  /// Of each row, by the labels as they are; 0 where they are ignored.
  ir::SoftmaxCrossEntropyOp crossEntropy(ir::Expr x,
                                         const LossOptions &options) const;
  LossRows rows(ir::Expr x, ir::Expr loss, bool weighs) const;
};

} // namespace dlc
