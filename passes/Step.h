// SPDX-License-Identifier: Apache-2.0
// What passes that extend @train_step share: access to its state and results,
// and the insertion point of new ops.
#pragma once

#include "compiler/dialect/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>
#include <vector>

namespace dlc {

/// The function of that name; if absent, null, with an error at the module.
mlir::func::FuncOp findFunction(mlir::ModuleOp module, llvm::StringRef name);

/// The attribute of the ops that compute the loss from the model's output.
constexpr llvm::StringLiteral kLossMark = "dlc.loss";

/// The attribute of a result "loss.NAME": its weight in the total loss, f64;
/// absent if 1.
constexpr llvm::StringLiteral kLossWeight = "dlc.weight";

/// The input of @train_step under --last-batch=pad: the weight of each sample,
/// 0 for padding (runtime/plan/Ports.h).
constexpr llvm::StringLiteral kSampleWeight = "dlc.sample_weight";

/// The names by which options find a state: its own, then those of `dlc.names`,
/// second names in the source of a weight that modules share.
std::vector<std::string> namesOf(ir::StateOp state);

/// Appends a result with the attribute dlc.name.
void addResult(mlir::func::FuncOp f, mlir::Value value, llvm::StringRef name);

/// The results whose dlc.name begins with `prefix`, as pairs of the rest of the
/// name and the result's index.
llvm::SmallVector<std::pair<mlir::StringAttr, unsigned>>
namedResults(mlir::func::FuncOp f, llvm::StringRef prefix);

/// Erases ops without side effects whose results are unused.
void eraseUnused(mlir::func::FuncOp f);

/// @train_step under construction. Ops are inserted before its return. A pass
/// makes one Step and must not move it, because expressions point to it.
class Step {
public:
  explicit Step(mlir::func::FuncOp f);
  Step(const Step &) = delete;

  /// A new state; null, with an error, if the name is taken. `init` is as in
  /// dlc.state.
  ir::StateOp addState(llvm::StringRef name, mlir::RankedTensorType type,
                       ir::Role role, mlir::Attribute init,
                       ir::StateOp of = nullptr);
  /// A new scalar state with the initial value `init`.
  ir::StateOp addScalar(llvm::StringRef name, mlir::Type element, ir::Role role,
                        double init);
  ir::StateOp findState(llvm::StringRef name) {
    return symbols.lookup<ir::StateOp>(name);
  }
  /// The state of the rank's number, which the runtime sets; a new one if there
  /// is none.
  ir::StateOp rank();

  ir::Expr expr(mlir::Value v) { return ir::Expr(builder, f.getLoc(), v); }
  ir::Expr read(ir::StateOp state);
  void write(ir::StateOp state, mlir::Value value);
  /// A rank-0 constant.
  ir::Expr scalar(mlir::Type element, double value);

  /// Whether this step updates states, which it does if all gradients are
  /// finite; null if it always does.
  mlir::Value updates() const { return proceeds; }
  /// Adds a condition for updates, in this pass and later ones.
  void updateOnlyIf(ir::Expr holds);
  /// `updated`, or `old` in a step that does not update.
  ir::Expr ifUpdating(ir::Expr updated, ir::Expr old);

  /// The declarations of gradients, in the order in which the gradients become
  /// available.
  llvm::SmallVector<ir::GradientOp> gradients() {
    return llvm::to_vector(f.getOps<ir::GradientOp>());
  }

  /// Replaces a state's partial gradients by their sum, declared where the last
  /// of them is available.
  void sumGradients();

  /// Multiplies every gradient, or those given, by the factor, which is rounded
  /// to the gradient's type.
  void multiplyGradients(ir::Expr factor) {
    multiplyGradients(factor, gradients());
  }
  void multiplyGradients(ir::Expr factor,
                         llvm::ArrayRef<ir::GradientOp> gradients);

  mlir::func::FuncOp f;
  mlir::SymbolTable symbols;
  mlir::OpBuilder builder;

private:
  mlir::Value proceeds; // null: states are always written
};

} // namespace dlc
