// SPDX-License-Identifier: Apache-2.0
// The update rules: the moments of each optimizer, and its update of one
// parameter.
#pragma once

#include "compiler/dialect/Expr.h"
#include "passes/Options.h"
#include "passes/Step.h"

namespace dlc {

/// A state per parameter, NAME.suffix, of the parameter's type.
struct Moment {
  llvm::StringRef suffix;
  double init = 0;
  int64_t mean = 0; // 1, 2: mean over the last, the second last dimension

  /// Whether it is a mean of squares, which begin with "v" by convention.
  bool isNonNegative() const { return suffix.starts_with("v"); }
};

/// Values that change from step to step, as f64 scalars.
struct Rates {
  ir::Expr t;                           // updates done before this one
  ir::Expr lr;                          // of this update
  ir::Expr momentum;                    // or beta1
  std::optional<ir::Expr> product = {}; // of Rule::factor, up to this update
};

/// The operands of an update of one parameter, all of one float type; scalars
/// have rank 0.
struct Update {
  ir::Expr w, g;
  llvm::ArrayRef<ir::Expr> moments; // before the step
  llvm::ArrayRef<ir::Expr> scalars; // from Rule::scalars
  const OptimizerOptions &options;  // resolved for the group
};

/// The options that an optimizer reads, with their defaults; unset: not read.
struct OptimizerReads {
  double lr, weightDecay = 0;
  std::optional<double> momentum = {}, beta1 = {}, beta2 = {}, epsilon = {},
                        alpha = {}, momentumDecay = {}, beta2Decay = {},
                        eps2 = {}, clipThreshold = {}, trustCoefficient = {};
  std::optional<bool> nesterov = {};
  bool dampening = false, amsgrad = false, decoupledDecay = false; // off
};

/// The table of optimizers (OptimizerRules.cpp). Formulas: the single-tensor
/// code of torch.optim; timm's for rmsprop_tf, lamb, lion and lars
/// (always_adapt for matrices, not of vectors: You, Gitman, Ginsburg 2017).
struct Rule {
  using Exprs = llvm::SmallVector<ir::Expr>;
  using Moments = llvm::SmallVector<Moment>;

  llvm::StringRef name;
  OptimizerReads reads;
  /// The moments of a parameter of that rank.
  Moments (*moments)(const OptimizerOptions &, int64_t rank);
  /// The scalars of a group, computed in f64 and rounded once to the
  /// parameters' type.
  Exprs (*scalars)(const Rates &, const OptimizerOptions &);
  /// The new parameter and the new moments. Elementwise where the formula
  /// allows it, so that one kernel updates all parameters of a group.
  Exprs (*update)(const Update &);
  /// Transforms all gradients of one optimizer beforehand; may be null.
  void (*prepare)(Step &, llvm::ArrayRef<ir::GradientOp>) = nullptr;
  /// Parameters of another rank are updated by adamw; 0: any rank.
  int64_t rank = 0;
  /// Whether the update of an element depends on other elements of the tensor.
  bool isOfWholeTensors = false;
  /// Whether gradient 0 changes nothing without momentum and weight decay.
  bool restsAtZero = false;
  /// The factor by which each update multiplies the state @step.product, which
  /// starts at 1; may be null.
  ir::Expr (*factor)(const Rates &, const OptimizerOptions &) = nullptr;
};

/// Null if there is no optimizer of that name.
const Rule *findRule(llvm::StringRef name);
std::vector<std::string> optimizerNames();
/// Whether `optimizer` reads the option of that flag ("momentum", "betas");
/// true for flags that are not an optimizer's own.
bool optimizerReads(llvm::StringRef optimizer, llvm::StringRef flag);
/// The names of optimizers that read the option of that flag.
std::vector<std::string> readersOf(llvm::StringRef flag);

/// The defaults of that flag, as "0.01: sgd, rmsprop; 0.001: adam".
std::string defaultsText(llvm::StringRef flag);

/// Functions of rules that reduce over a parameter or multiply matrices.
Rule::Moments lambMoments(const OptimizerOptions &options, int64_t rank);
Rule::Exprs lambScalars(const Rates &rates, const OptimizerOptions &options);
Rule::Exprs lamb(const Update &update);
void boundGradients(Step &step, llvm::ArrayRef<ir::GradientOp> gradients);
Rule::Moments muonMoments(const OptimizerOptions &options, int64_t rank);
Rule::Exprs muonScalars(const Rates &rates, const OptimizerOptions &options);
Rule::Exprs muon(const Update &update);
Rule::Moments larsMoments(const OptimizerOptions &options, int64_t rank);
Rule::Exprs larsScalars(const Rates &rates, const OptimizerOptions &options);
Rule::Exprs lars(const Update &update);
Rule::Moments adafactorMoments(const OptimizerOptions &options, int64_t rank);
Rule::Exprs adafactorScalars(const Rates &rates,
                             const OptimizerOptions &options);
Rule::Exprs adafactor(const Update &update);

/// m + (g - m) (1 - beta), and v beta + g^2 (1 - beta), and g + decay w.
ir::Expr average(ir::Expr m, ir::Expr g, ir::Expr oneMinusBeta);
ir::Expr averageOfSquares(ir::Expr v, ir::Expr g, double beta);
ir::Expr withDecay(ir::Expr g, ir::Expr w, const OptimizerOptions &options);

} // namespace dlc
