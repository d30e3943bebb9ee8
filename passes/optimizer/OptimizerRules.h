// SPDX-License-Identifier: Apache-2.0
// The update rules: what each optimizer keeps and computes for one parameter.
#pragma once

#include "compiler/dialect/Expr.h"
#include "passes/Options.h"
#include "passes/Step.h"

namespace dlc {

/// A state beside each parameter, NAME.suffix, of its type.
struct Moment {
  llvm::StringRef suffix;
  double init = 0;
  int64_t mean = 0; // 1, 2: of the last, the last but one dimension

  /// A mean of squares, by its name.
  bool isNonNegative() const { return suffix.starts_with("v"); }
};

/// What changes from step to step, f64 scalars.
struct Rates {
  ir::Expr t;                           // updates done before this one
  ir::Expr lr;                          // of this update
  ir::Expr momentum;                    // or beta1
  std::optional<ir::Expr> product = {}; // of Rule::factor, with this update's
};

/// One parameter in a step. All in one float type; scalars have rank 0.
struct Update {
  ir::Expr w, g;
  llvm::ArrayRef<ir::Expr> moments; // before the step
  llvm::ArrayRef<ir::Expr> scalars; // what the rule's `scalars` gave
  const OptimizerOptions &options;  // resolved, of the parameter's group
};

/// What an optimizer reads, with its defaults; none: it does not read that.
struct OptimizerReads {
  double lr, weightDecay = 0;
  std::optional<double> momentum = {}, beta1 = {}, beta2 = {}, epsilon = {},
                        alpha = {}, momentumDecay = {}, beta2Decay = {},
                        eps2 = {}, clipThreshold = {}, trustCoefficient = {};
  std::optional<bool> nesterov = {};
  bool dampening = false, amsgrad = false, decoupledDecay = false; // off
};

/// An optimizer is a row of these (OptimizerRules.cpp). Formulas: torch.optim's
/// single-tensor code, timm's for rmsprop_tf, lamb, lion and lars (always_adapt
/// for matrices, no adaptation of vectors: You, Gitman, Ginsburg 2017).
struct Rule {
  using Exprs = llvm::SmallVector<ir::Expr>;
  using Moments = llvm::SmallVector<Moment>;

  llvm::StringRef name;
  OptimizerReads reads;
  /// Of a parameter of that rank.
  Moments (*moments)(const OptimizerOptions &, int64_t rank);
  /// The scalars of a group in f64, rounded once to the parameters' type.
  Exprs (*scalars)(const Rates &, const OptimizerOptions &);
  /// The new parameter and the new moments. Elementwise wherever the formula
  /// is, so that one kernel moves all parameters of a group.
  Exprs (*update)(const Update &);
  /// What happens to all gradients of one optimizer before; may be null.
  void (*prepare)(Step &, llvm::ArrayRef<ir::GradientOp>) = nullptr;
  /// Parameters of another rank than this move by adamw; 0: any rank.
  int64_t rank = 0;
  /// An element's update depends on others of its tensor.
  bool isOfWholeTensors = false;
  /// Where the gradient is 0, without momentum and weight decay, nothing moves.
  bool restsAtZero = false;
  /// What each update multiplies a state by that starts at 1, @step.product;
  /// may be null.
  ir::Expr (*factor)(const Rates &, const OptimizerOptions &) = nullptr;
};

/// Null when there is none of that name.
const Rule *findRule(llvm::StringRef name);
std::vector<std::string> optimizerNames();
/// Whether `optimizer` reads the option of that flag ("momentum", "betas");
/// true for flags that are not an optimizer's own.
bool optimizerReads(llvm::StringRef optimizer, llvm::StringRef flag);
/// The names of those that do.
std::vector<std::string> readersOf(llvm::StringRef flag);

/// "0.01: sgd, rmsprop; 0.001: adam": the defaults of that flag.
std::string defaultsText(llvm::StringRef flag);

/// The parts of rules with reductions over, or products of, a parameter.
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

/// m + (g - m) (1 - beta), the second moment v beta + g^2 (1 - beta), and
/// g + decay w.
ir::Expr average(ir::Expr m, ir::Expr g, ir::Expr oneMinusBeta);
ir::Expr averageOfSquares(ir::Expr v, ir::Expr g, double beta);
ir::Expr withDecay(ir::Expr g, ir::Expr w, const OptimizerOptions &options);

} // namespace dlc
