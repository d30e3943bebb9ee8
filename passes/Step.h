// SPDX-License-Identifier: Apache-2.0
// What the passes that extend @train_step share: its state, its results, and
// the place where new ops go.
#pragma once

#include "compiler/dialect/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dlc {

/// The function of that name; null, with an error at the module, when it is
/// absent.
mlir::func::FuncOp findFunction(mlir::ModuleOp module, llvm::StringRef name);

/// The attribute of the ops that compute the loss from the model's output.
constexpr llvm::StringLiteral kLossMark = "dlc.loss";

/// The attribute of a result "loss.NAME": what it counts in the total, f64;
/// none for 1.
constexpr llvm::StringLiteral kLossWeight = "dlc.weight";

/// @train_step's input of --last-batch=pad: how much each sample counts, 0 for
/// those that fill up a batch (runtime/plan/Ports.h).
constexpr llvm::StringLiteral kSampleWeight = "dlc.sample_weight";

/// Appends a result with the attribute dlc.name.
void addResult(mlir::func::FuncOp f, mlir::Value value, llvm::StringRef name);

/// The results whose dlc.name begins with `prefix`: the rest of the name, the
/// index.
llvm::SmallVector<std::pair<mlir::StringAttr, unsigned>>
namedResults(mlir::func::FuncOp f, llvm::StringRef prefix);

/// Ops without effects whose results nobody uses.
void eraseUnused(mlir::func::FuncOp f);

/// @train_step under construction. Ops are built before its return. One pass
/// makes one Step and keeps it where it is: expressions point to it.
class Step {
public:
  explicit Step(mlir::func::FuncOp f);
  Step(const Step &) = delete;

  /// A new state; null, with an error, when the name is taken. `init` as in
  /// dlc.state.
  ir::StateOp addState(llvm::StringRef name, mlir::RankedTensorType type,
                       ir::Role role, mlir::Attribute init,
                       ir::StateOp of = nullptr);
  /// A new scalar state that starts at `init`.
  ir::StateOp addScalar(llvm::StringRef name, mlir::Type element, ir::Role role,
                        double init);
  ir::StateOp findState(llvm::StringRef name) {
    return symbols.lookup<ir::StateOp>(name);
  }

  ir::Expr expr(mlir::Value v) { return ir::Expr(builder, f.getLoc(), v); }
  ir::Expr read(ir::StateOp state);
  void write(ir::StateOp state, mlir::Value value);
  /// A rank-0 constant.
  ir::Expr scalar(mlir::Type element, double value);

  /// The result with that dlc.name; null when there is none.
  mlir::Value findResult(llvm::StringRef name);
  /// Whether this step updates: its gradients are all finite;
  /// null if it always does.
  mlir::Value updates() const { return proceeds; }
  /// A further condition for that, here and in later passes.
  void updateOnlyIf(ir::Expr holds);
  /// `updated`, or `old` in a step that does not update.
  ir::Expr ifUpdating(ir::Expr updated, ir::Expr old);

  /// The declarations of gradients in the order in which they get ready.
  llvm::SmallVector<ir::GradientOp> gradients() {
    return llvm::to_vector(f.getOps<ir::GradientOp>());
  }

  /// One gradient a state, the sum of its parts, ready when the last one is.
  void sumGradients();

  /// Every gradient, or each of these, becomes gradient * factor, with the
  /// factor rounded to the gradient's type.
  void multiplyGradients(ir::Expr factor) {
    multiplyGradients(factor, gradients());
  }
  void multiplyGradients(ir::Expr factor,
                         llvm::ArrayRef<ir::GradientOp> gradients);

  mlir::func::FuncOp f;
  mlir::SymbolTable symbols;
  mlir::OpBuilder builder;

private:
  mlir::Value proceeds; // whether states are written; null: always
};

} // namespace dlc
