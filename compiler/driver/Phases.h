// SPDX-License-Identifier: Apache-2.0
// The phases of a compilation in order, as one table.
#pragma once

#include "compiler/driver/Options.h"
#include "compiler/lower/Lower.h"
#include "compiler/target/Target.h"
#include "mlir/Pass/PassManager.h"
#include <span>

namespace dlc {

/// What the rows of the table read.
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
/// program. A phase none of whose passes runs changes nothing.
struct Phase {
  std::string_view name, sentence;
  Mode mode; // whether programs with a training step have it, or without
  std::vector<PassStep> passes;
  bool isModelText = false; // the artifact's model.mlir is the program after it
};

/// Every phase.
std::span<const Phase> allPhases();

/// Those that the options ask for, up to `options.stopAfter`; "plan" is another
/// name of the last. Code::Usage, with all names, for an unknown one.
Result<std::vector<const Phase *>> phasesOf(const CompileOptions &options);

/// Whether the phases that the options ask for end with commands.
bool isLowered(const CompileOptions &options);

/// Adds the phase's passes to those of a module.
void addPhase(const Phase &phase, const PhaseContext &context,
              mlir::OpPassManager &passes);
/// Runs them. Errors are diagnostics.
llvm::LogicalResult runPhase(const Phase &phase, const PhaseContext &context,
                             mlir::ModuleOp module);

/// Every dialect, gradient and decomposition that the phases need.
void registerEverything(mlir::DialectRegistry &registry);

} // namespace dlc
