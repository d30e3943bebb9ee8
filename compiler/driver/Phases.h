// SPDX-License-Identifier: Apache-2.0
// The table of a compilation's phases, in order.
#pragma once

#include "compiler/driver/Options.h"
#include "compiler/lower/Lower.h"
#include "compiler/target/Target.h"
#include "mlir/Pass/PassManager.h"
#include <span>

namespace dlc {

/// The context that rows of the table read.
struct PhaseContext {
  explicit PhaseContext(const CompileOptions &options);

  CompileOptions options; // resolved
  LoweringOptions lowering;
  LoweringTraits traits; // of the target
};

using When = bool (*)(const PhaseContext &);
constexpr bool always(const PhaseContext &) { return true; }

struct PassStep {
  std::unique_ptr<mlir::Pass> (*make)(const PhaseContext &);
  When when = always;
};

enum class Mode : unsigned { Train = 1, Predict = 2, Both = 3 };

/// A named part of the compilation, after which `sentence` is true of the
/// program. A phase that runs no pass does not change the program.
struct Phase {
  std::string_view name, sentence;
  Mode mode; // programs that have it: with a training step, or without
  std::vector<PassStep> passes;
  bool isModelText = false; // model.mlir is the program after it
};

/// Every phase.
std::span<const Phase> allPhases();

/// The phases that the options select, up to `options.stopAfter`; "plan" also
/// names the last one. Code::Usage, with all names, for an unknown name.
Result<std::vector<const Phase *>> phasesOf(const CompileOptions &options);

/// Whether the selected phases end with commands.
bool isLowered(const CompileOptions &options);

/// Adds the phase's passes to a pass manager of modules.
void addPhase(const Phase &phase, const PhaseContext &context,
              mlir::OpPassManager &passes);
/// Runs the phase's passes. Errors are diagnostics.
llvm::LogicalResult runPhase(const Phase &phase, const PhaseContext &context,
                             mlir::ModuleOp module);

/// Registers all dialects, gradients and decompositions that the phases need.
void registerEverything(mlir::DialectRegistry &registry);

} // namespace dlc
